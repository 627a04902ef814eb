import { type Filter, filterQuery } from '../http/filter.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Announcements } from '../presence/announcements.ts';
import type { PresenceCount } from '../protocol.ts';
import { Resource } from './resource.ts';

/** The methods of presence that hosts and pages share. */
export abstract class PresenceResource extends Resource {
  /** @internal */
  protected readonly announcements: Announcements;

  /** @internal */
  constructor(transport: Transport, announcements: Announcements) {
    super(transport);
    this.announcements = announcements;
  }

  /**
   * The number of users that the list at `path` has.
   * @internal
   */
  protected async countAt(path: () => string, filter: Filter, options?: CallOptions): Promise<number> {
    const query = { ...filterQuery(filter), count_only: true };
    return (await this.transport.json<PresenceCount>('GET', path(), options, { query })).count;
  }
}
