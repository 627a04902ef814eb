import type { Query } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Location, PresenceCount } from '../protocol.ts';

/** Which presence to read. */
export interface PresenceFilter {
  /** Only presence at exactly this location. Default: everywhere. */
  readonly location?: Location | undefined;
  /** Also locations that match `location`: those with all of its pairs and more. Default: false. */
  readonly partialMatch?: boolean | undefined;
  /** Leaves durable presence out. Default: false. */
  readonly excludeDurable?: boolean | undefined;
}

export const filterQuery = ({ location, partialMatch, excludeDurable }: PresenceFilter): Query => ({
  location,
  partial_match: partialMatch,
  exclude_durable: excludeDurable,
});

/** The number of users that the list at `path` has. */
export async function countAt(
  transport: Transport,
  path: string,
  filter: Query,
  options?: CallOptions,
): Promise<number> {
  const query = { ...filter, count_only: true };
  return (await transport.json<PresenceCount>({ method: 'GET', path, query }, options)).count;
}
