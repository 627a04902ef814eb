import type { ListName } from '../../core/page-token.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import { hasLocation, type LocationParameters, locationFilterOf } from './location-parameter.ts';

interface FilterParameters extends LocationParameters {
  readonly resolved?: boolean;
}

export const threadFilter = (query: FilterParameters, groupId: string | null): ThreadFilter => ({
  groupId,
  location: locationFilterOf(query),
  resolved: query.resolved ?? null,
});

/** The list of threads: a page's token is valid with the same filter only. Null where the location is invalid. */
export const threadListName = (query: FilterParameters, groupId: string | null): ListName | null =>
  hasLocation(query) ? ['threads', JSON.stringify(threadFilter(query, groupId))] : null;
