import type { PagedList } from '../http/paged-list.ts';
import { path } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { LocationUpdate } from '../presence/announced-locations.ts';
import type { Announcement, AnnouncementOptions } from '../presence/announcement.ts';
import type { Announcements } from '../presence/announcements.ts';
import { PresenceWatch, type StreamOptions } from '../presence/presence-watch.ts';
import type { Done, PresenceEntry, PresenceUpdate, PresenceUpdatesDone, PresenceWrite } from '../protocol.ts';
import { listAt } from './list-at.ts';
import { countAt, filterQuery, type PresenceFilter } from './presence-filter.ts';
import { Resource } from './resource.ts';

/** Which user to announce, and where. */
export interface AnnounceOptions extends AnnouncementOptions {
  readonly userID: string;
  readonly groupID: string;
}

/** Which group's presence to watch. */
export interface WatchOptions extends PresenceFilter, StreamOptions {
  readonly groupID: string;
}

/** The presence of a project's users. */
export class Presence extends Resource {
  readonly #announcements: Announcements;

  /** @internal */
  constructor(transport: Transport, announcements: Announcements) {
    super(transport);
    this.#announcements = announcements;
  }

  /** Sets a user present at a location, or absent from it. It expires; {@link announce} refreshes it. @throws RollcallError */
  async put(userID: string, write: PresenceWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json(updateOf(userID, write), options);
  }

  /** Up to 1,000 updates. Not atomic: the response lists the rejected ones and why. @throws RollcallError */
  async putMany(updates: readonly PresenceUpdate[], options?: CallOptions): Promise<PresenceUpdatesDone> {
    return this.transport.json({ method: 'PUT', path: '/v1/presence', body: { updates } }, options);
  }

  /** The locations of one user in a group. @throws RollcallError */
  async get(userID: string, groupID: string, options?: CallOptions): Promise<PresenceEntry> {
    const request = { method: 'GET', path: path`/v1/users/${userID}/presence`, query: { groupID } } as const;
    return this.transport.json(request, options);
  }

  /** The users present in a group, in order of ID. */
  list(groupID: string, filter: PresenceFilter = {}, options?: CallOptions): PagedList<PresenceEntry> {
    const groupPath = () => path`/v1/groups/${groupID}/presence`;
    return listAt(this.transport, groupPath, 'users', options, filterQuery(filter));
  }

  /** How many users are present in a group. @throws RollcallError */
  async count(groupID: string, filter: PresenceFilter = {}, options?: CallOptions): Promise<number> {
    return countAt(this.transport, path`/v1/groups/${groupID}/presence`, filterQuery(filter), options);
  }

  /** Announces a user until `leave()`. Does not throw: see `ended` and `onError`. */
  announce({ userID, groupID, ...options }: AnnounceOptions): Announcement {
    const request = (update: LocationUpdate) => updateOf(userID, { groupID, ...update });
    return this.#announcements.announce([userID, groupID], request, options);
  }

  /** The presence events of a group: `for await (const event of rollcall.presence.watch({ groupID }))`. */
  watch({ groupID, ...options }: WatchOptions): PresenceWatch {
    const query = filterQuery(options);
    const request = () => ({ method: 'GET', path: path`/v1/groups/${groupID}/presence`, query }) as const;
    return new PresenceWatch(this.transport, request, options);
  }
}

const updateOf = (userID: string, body: unknown) =>
  ({ method: 'PUT', path: path`/v1/users/${userID}/presence`, body }) as const;
