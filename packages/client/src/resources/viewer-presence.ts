import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { LocationUpdate } from '../presence/announced-locations.ts';
import type { Announcement, AnnouncementOptions } from '../presence/announcement.ts';
import type { Announcements } from '../presence/announcements.ts';
import { PresenceWatch, type StreamOptions } from '../presence/presence-watch.ts';
import type { Done, PresenceEntry, ViewerPresenceWrite } from '../protocol.ts';
import { listAt } from './list-at.ts';
import { countAt, filterQuery, type PresenceFilter } from './presence-filter.ts';
import { Resource } from './resource.ts';

/** The group; optional when the token names one. */
export interface ViewerGroup {
  readonly groupID?: string | undefined;
}

/** Where to announce the viewer. */
export interface ViewerAnnounceOptions extends AnnouncementOptions, ViewerGroup {}

/** Which group's presence to watch. */
export interface ViewerWatchOptions extends PresenceFilter, StreamOptions, ViewerGroup {}

const PATH = '/v1/client/presence';

/** Presence in the viewer's groups, and the viewer's own. */
export class ViewerPresence extends Resource {
  readonly #announcements: Announcements;

  /** @internal */
  constructor(transport: Transport, announcements: Announcements) {
    super(transport);
    this.#announcements = announcements;
  }

  /** Sets the viewer present or absent. It expires; {@link announce} refreshes it. @throws RollcallError */
  async put(write: ViewerPresenceWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json({ method: 'PUT', path: PATH, body: write }, options);
  }

  /** The users present in the group, in order of ID. */
  list(filter: PresenceFilter & ViewerGroup = {}, options?: CallOptions): PagedList<PresenceEntry> {
    const query = { groupID: filter.groupID, ...filterQuery(filter) };
    return listAt(this.transport, () => PATH, 'users', options, query);
  }

  /** How many users are present in the group. @throws RollcallError */
  async count(filter: PresenceFilter & ViewerGroup = {}, options?: CallOptions): Promise<number> {
    return countAt(this.transport, PATH, { groupID: filter.groupID, ...filterQuery(filter) }, options);
  }

  /** Announces the viewer until `leave()` or the page unloads. Does not throw: see `ended` and `onError`. */
  announce({ groupID, ...options }: ViewerAnnounceOptions): Announcement {
    const request = (update: LocationUpdate) =>
      ({ method: 'PUT', path: PATH, body: { groupID, ...update } }) as const;
    // Without a groupID, the user and the group are the token's.
    return this.#announcements.announce([PATH, groupID ?? null], request, options);
  }

  /** The presence events of the group: `for await (const event of client.presence.watch())`. */
  watch({ groupID, ...options }: ViewerWatchOptions = {}): PresenceWatch {
    const query = { groupID, ...filterQuery(options) };
    return new PresenceWatch(this.transport, () => ({ method: 'GET', path: PATH, query }), options);
  }
}
