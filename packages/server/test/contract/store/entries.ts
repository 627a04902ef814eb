/** Answers of the store that hold lists, unpacked. */
import assert from 'node:assert/strict';
import type { Change } from '../../../src/store/changes/changes.ts';
import { type IdList, unpackIds } from '../../../src/store/worker-threads/packed-ids.ts';
import type { Json } from '../../../src/values/json.ts';
import type { Page, PageRequest } from '../../../src/values/page.ts';

/** The whole of a text that may be in pieces. */
export async function joined(text: Json | AsyncIterable<Json>): Promise<Json> {
  if (typeof text === 'string') return text;
  const pieces: Json[] = [];
  for await (const piece of text) pieces.push(piece);
  return pieces.join('');
}

/** An entry of any list, parsed. */
export type Entry = { readonly id: string; readonly [field: string]: unknown };
export type ListPage = (page: PageRequest) => Promise<Page>;

/** The entries of one page. Checks its count and its last ID against them. */
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

/**
 * Changes as texts, one for each user, field or resource that they name: `member.added g ann`, `user.updated ann name`.
 * How users are divided among changes, and in which order they come, is the driver's choice.
 */
export function changeTexts(changes: readonly Change[]): string[] {
  return changes.flatMap((change) => {
    const { users, fields, ...named } = change as Record<string, string> & {
      readonly users?: IdList;
      readonly fields?: readonly string[];
    };
    const start = Object.values(named).join(' ');
    const parts = users === undefined ? fields : [...unpackIds(users)].sort();
    return parts === undefined ? [start] : parts.map((each) => `${start} ${each}`);
  });
}

/** The changes of an outcome, as texts. */
export function changesOf(outcome: object): string[] {
  assert.ok('changes' in outcome, `${JSON.stringify(outcome)} has changes`);
  return changeTexts(outcome.changes as readonly Change[]);
}
