/** Answers of the store that hold lists, unpacked. */
import assert from 'node:assert/strict';
import type { Departure, Json, Page, PageRequest } from '../../../src/store/store.ts';

/** A text that may come in pieces, whole. */
export async function joined(text: Json | AsyncIterable<Json>): Promise<Json> {
  if (typeof text === 'string') return text;
  const pieces: Json[] = [];
  for await (const piece of text) pieces.push(piece);
  return pieces.join('');
}

/** An entry of any list, parsed. */
export type Entry = { readonly id: string; readonly [field: string]: unknown };
export type ListPage = (page: PageRequest) => Promise<Page>;

/** The entries of one page; checks what is said about it against what it holds. */
export function entriesIn(page: Page): Entry[] {
  const entries: Entry[] = JSON.parse(`[${page.items}]`);
  assert.equal(page.count, entries.length, 'count is the number of entries');
  return entries;
}

/** Walks a list to its end. */
export async function entriesOf(list: ListPage, limit = 10_000): Promise<Entry[]> {
  const entries: Entry[] = [];
  let after: string | null = null;
  do {
    const page: Page = await list({ after, limit });
    assert.ok(page.count <= limit, `${page.count} entries on a page of ${limit}`);
    assert.ok(page.count > 0 || page.last === null, 'an empty page is the last');
    entries.push(...entriesIn(page));
    after = page.last;
  } while (after !== null);
  return entries;
}

export async function idsOf(list: ListPage, limit?: number): Promise<string[]> {
  return (await entriesOf(list, limit)).map(({ id }) => id);
}

/** Departures as sorted pairs: how they are put together is the driver's choice. */
export function departuresOf(outcome: object): string[] {
  const { effects } = outcome as { effects?: { departures: readonly Departure[] } };
  assert.ok(effects, `${JSON.stringify(outcome)} has effects`);
  return effects.departures
    .flatMap(({ groupId, userIds }) => userIds.map((id) => `${id} left ${groupId}`))
    .sort();
}
