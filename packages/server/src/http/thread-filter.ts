import { canonicalLocation, type Location } from '@rollcall/protocol';
import type { ListName } from '../core/page-token.ts';
import type { ThreadFilter } from '../store/ports/threads.ts';

/** The parameters of a filter. */
interface FilterParameters {
  readonly location?: Location;
  readonly partial_match?: boolean;
  readonly resolved?: boolean;
}

/** Which threads a query asks for. */
export function threadFilter(
  { location, partial_match: partial = false, resolved }: FilterParameters,
  groupId: string | null,
): ThreadFilter {
  return {
    groupId,
    location: location === undefined ? null : { location: canonicalLocation(location), partial },
    resolved: resolved ?? null,
  };
}

/** The list of threads: a page's token is valid with the same filter only. Null where the location is invalid. */
export function threadListName(query: FilterParameters, groupId: string | null): ListName | null {
  const { location } = query as { location?: unknown };
  if (location !== undefined && !isLocation(location)) return null;
  return ['threads', JSON.stringify(threadFilter(query, groupId))];
}

const isLocation = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((part) => typeof part === 'string');
