import type { Chunk } from '../core/paging.ts';
import type { Page } from '../store/store.ts';

/** Largest page that is held in memory, in UTF-16 units; one that has a limit ends early beyond it. */
const HELD_PAGE_LENGTH = 8 * 1_024 * 1_024;

/**
 * A page as one array, with the ID that the next page starts after: the `Link` header that names it leaves before the
 * body, so the page has to be read first.
 */
export async function heldPage(
  list: AsyncGenerator<Chunk<Page>, void, void>,
): Promise<{ body: string; last: string | null }> {
  const items: string[] = [];
  let length = 0;
  let last: string | null = null;
  for await (const { page } of list) {
    if (page.items !== '') items.push(page.items);
    last = page.last;
    length += page.items.length;
    if (length > HELD_PAGE_LENGTH) break;
  }
  return { body: `[${items.join(',')}]`, last };
}
