import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Page, PageRequest } from '../store/store.ts';

/** Entries taken from the store at a time. Small enough to hold and to read between other requests. */
export const CHUNK_ENTRIES = 500;

export interface Chunk<P extends Page> {
  readonly page: P;
  /** Nothing comes after this chunk: the list or the limit is reached. */
  readonly final: boolean;
}

/** Reads a list chunk by chunk, up to `limit` entries, and lets the event loop go in between. */
export async function* chunks<P extends Page>(
  read: (page: PageRequest) => Promise<P>,
  { after, limit }: PageRequest,
): AsyncGenerator<Chunk<P>, void, void> {
  let start = after;
  let remaining = limit;
  for (;;) {
    const page = await read({ after: start, limit: Math.min(CHUNK_ENTRIES, remaining) });
    remaining -= page.count;
    const final = page.last === null || remaining <= 0;
    yield { page, final };
    if (final) return;
    start = page.last;
    await nextTurn();
  }
}
