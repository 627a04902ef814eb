import type { ChangeChunk, ChangeFeed } from '../core/change-feed.ts';
import type { ChangeFilter } from '../core/change-filter.ts';
import { type ChangePosition, positionText } from '../core/change-position.ts';
import type { ProjectKey } from '../values/project-key.ts';
import { changesPage, presentChange } from '../wire/change-text.ts';

/** A page ends early once its text is longer than this, in UTF-16 units. */
const PAGE_MAX_LENGTH = 4 * 1_024 * 1_024;
/** How many chunks of the record one request searches: 10,000 records at most. */
const CHUNKS_SEARCHED = 20;

interface ChangePageRequest {
  readonly after: ChangePosition | null;
  readonly limit: number;
  readonly filter: ChangeFilter;
}

/** The body of a page: one chunk in each event-loop tick. @throws ServiceError 410 */
export async function changePageBody(
  feed: ChangeFeed,
  project: ProjectKey,
  { after, limit, filter }: ChangePageRequest,
): Promise<string> {
  const texts: string[] = [];
  let length = 0;
  let position = after;
  for (let searched = 1; ; searched += 1) {
    const chunk: ChangeChunk = await feed.chunk(project, position, filter, limit - texts.length);
    for (const found of chunk.found) {
      const text = presentChange(found);
      texts.push(text);
      length += text.length;
    }
    position = chunk.position;
    const isFull = texts.length === limit || length > PAGE_MAX_LENGTH || searched === CHUNKS_SEARCHED;
    if (chunk.isEnd || isFull) return changesPage(texts, positionText(chunk.position), !chunk.isEnd);
  }
}
