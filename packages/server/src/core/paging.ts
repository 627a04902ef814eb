import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Page, PageRequest } from '../values/page.ts';
import { ServiceError } from './service-error.ts';

/** Entries read from the store at once. Few enough for memory, and for the other requests of the event loop. */
export const CHUNK_ENTRIES = 500;
/** Entries that are read first, while their size is unknown. A user with the largest fields has some 25 KB. */
const FIRST_ENTRIES = 100;
/** Length that a later chunk of {@link chunks} aims at, in UTF-16 units. A reader that pauses retains a few chunks. */
const CHUNK_LENGTH = 1_024 * 1_024;

export interface Chunk<P extends Page> {
  readonly page: P;
  /** This chunk is the last: the list, the limit or the most bytes are reached. */
  readonly final: boolean;
}

/**
 * Reads a list chunk by chunk, up to `limit` entries or until they have more than `maxBytes`, one event-loop tick for each. Where
 * entries are large, a chunk has fewer of them. `read` gets the bytes that are left, and ends its page with the entry that exceeds
 * them. When what the list belongs to is deleted meanwhile, the list ends there: its beginning may be sent already.
 */
export async function* chunks<P extends Page>(
  read: (request: PageRequest, maxBytes: number) => Promise<P>,
  { after, limit }: PageRequest,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Chunk<P>, void, void> {
  let entriesLeft = limit;
  let bytesLeft = maxBytes;
  let chunkEntries = FIRST_ENTRIES;
  const next = (start: string | null) =>
    read({ after: start, limit: Math.min(chunkEntries, entriesLeft) }, bytesLeft);
  let page = await next(after);
  for (;;) {
    entriesLeft -= page.count;
    if (maxBytes !== Number.POSITIVE_INFINITY) bytesLeft -= Buffer.byteLength(page.items);
    const final = page.last === null || entriesLeft <= 0 || bytesLeft < 0;
    yield { page, final };
    if (final) return;
    chunkEntries = entriesFor(page);
    await nextIteration();
    page = await next(page.last).catch(endedAfter(page));
  }
}

/** How many entries of the average size on this page have the length of a chunk. */
function entriesFor({ items, count }: Page): number {
  const fitting = Math.floor((CHUNK_LENGTH * count) / Math.max(1, items.length));
  return count === 0 ? CHUNK_ENTRIES : Math.min(CHUNK_ENTRIES, Math.max(1, fitting));
}

/** Chunks of a list that the store reads to the end. */
export async function* allChunks<P extends Page>(
  pages: AsyncGenerator<P, void, void>,
): AsyncGenerator<Chunk<P>, void, void> {
  for await (const page of pages) yield { page, final: page.last === null };
}

/** An empty page where the list was deleted after this page. Other errors are thrown. */
function endedAfter<P extends Page>(page: P): (error: unknown) => P {
  return (error) => {
    if (error instanceof ServiceError) return { ...page, items: '', count: 0, last: null };
    throw error;
  };
}
