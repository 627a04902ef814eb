import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Page, PageRequest } from '../values/page.ts';
import { ServiceError } from './service-error.ts';

/** Entries read from the store at once. Few enough for memory, and for the other requests of the event loop. */
export const CHUNK_ENTRIES = 500;

export interface Chunk<P extends Page> {
  readonly page: P;
  /** This chunk is the last: the list, the limit or the most bytes are reached. */
  readonly final: boolean;
}

/**
 * Reads a list chunk by chunk, up to `limit` entries or until they have more than `maxBytes`, one event-loop tick for each. `read` gets the bytes that are left, and ends its page with the entry that exceeds them. When what the list
 * belongs to is deleted meanwhile, the list ends there: its beginning may be sent already.
 */
export async function* chunks<P extends Page>(
  read: (request: PageRequest, maxBytes: number) => Promise<P>,
  { after, limit }: PageRequest,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Chunk<P>, void, void> {
  let entriesLeft = limit;
  let bytesLeft = maxBytes;
  const next = (start: string | null) =>
    read({ after: start, limit: Math.min(CHUNK_ENTRIES, entriesLeft) }, bytesLeft);
  let page = await next(after);
  for (;;) {
    entriesLeft -= page.count;
    if (maxBytes !== Number.POSITIVE_INFINITY) bytesLeft -= Buffer.byteLength(page.items);
    const final = page.last === null || entriesLeft <= 0 || bytesLeft < 0;
    yield { page, final };
    if (final) return;
    await nextIteration();
    page = await next(page.last).catch(endedAfter(page));
  }
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
