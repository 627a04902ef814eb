import type { Chunk } from '../core/paging.ts';
import type { Page } from '../values/page.ts';

/** Largest page that is built in memory, in UTF-16 units; a longer one ends early. */
const PAGE_MAX_LENGTH = 8 * 1_024 * 1_024;

/**
 * A page as one array, with the ID after which the next page starts: the `Link` header that names it is sent before the
 * body, so the whole page is read first.
 */
export async function wholePage(
  list: AsyncGenerator<Chunk<Page>, void, void>,
): Promise<{ body: string; last: string | null }> {
  const items: string[] = [];
  let length = 0;
  let last: string | null = null;
  for await (const { page } of list) {
    if (page.items !== '') items.push(page.items);
    last = page.last;
    length += page.items.length;
    if (length > PAGE_MAX_LENGTH) break;
  }
  return { body: `[${items.join(',')}]`, last };
}
