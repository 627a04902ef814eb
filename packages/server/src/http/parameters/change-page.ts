import type { ChangeChunk, ChangeFeed } from '../../core/changes/change-feed.ts';
import type { ChangeFilter } from '../../core/changes/change-filter.ts';
import { type ChangePosition, positionText } from '../../core/changes/change-position.ts';
import { ServiceError } from '../../core/service-error.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { changesPage, presentChange } from '../../wire/change-text.ts';

/** A page ends early once its text is longer than this, in UTF-16 units. */
const PAGE_MAX_LENGTH = 4 * 1_024 * 1_024;
/** How many chunks of the record one request searches: 10,000 records at most. */
const CHUNKS_SEARCHED = 20;

interface ChangePageRequest {
  readonly after: ChangePosition | null;
  readonly limit: number;
  readonly filter: ChangeFilter;
}

/** The body of a page: one chunk in each event-loop tick. @throws ServiceError 410 where changes after the position were removed */
export async function changePageBody(
  feed: ChangeFeed,
  project: ProjectKey,
  { after, limit, filter }: ChangePageRequest,
): Promise<string> {
  const texts: string[] = [];
  let length = 0;
  let position = after;
  for (let searched = 1; ; searched += 1) {
    let chunk: ChangeChunk;
    try {
      chunk = await feed.chunk(project, position, filter, limit - texts.length);
    } catch (error) {
      if (position === null || searched === 1 || !(error instanceof ServiceError)) throw error;
      // The changes after those that were read are removed meanwhile: the caller has missed none of the page, and the next one is 410.
      return changesPage(texts, positionText(position), true);
    }
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
