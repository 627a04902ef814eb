import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { PlaceUpdate } from '../presence/announced-places.ts';
import type { Announcement, AnnouncementOptions } from '../presence/announcement.ts';
import type { Announcements } from '../presence/announcements.ts';
import { PresenceWatch, type StreamOptions } from '../presence/presence-watch.ts';
import type { Done, PresenceEntry, ViewerPresenceWrite } from '../protocol.ts';
import { listAt } from './list-at.ts';
import { countAt, filterQuery, type PresenceFilter } from './presence-filter.ts';

/** The group; may be left out where the token names one. */
export interface ViewerGroup {
  readonly groupID?: string | undefined;
}

/** Where to keep the viewer present. */
export interface ViewerAnnounceOptions extends AnnouncementOptions, ViewerGroup {}

/** Which group's presence to follow. */
export interface ViewerWatchOptions extends PresenceFilter, StreamOptions, ViewerGroup {}

const PATH = '/v1/client/presence';

/** Who is where in the viewer's groups, and where the viewer is. */
export class ViewerPresence {
  readonly #transport: Transport;
  readonly #announcements: Announcements;

  /** @internal */
  constructor(transport: Transport, announcements: Announcements) {
    this.#transport = transport;
    this.#announcements = announcements;
  }

  /** Sets the viewer present or absent, once: it expires. {@link announce} goes on. @throws RollcallError */
  async put(write: ViewerPresenceWrite, options?: CallOptions): Promise<Done> {
    return this.#transport.json({ method: 'PUT', path: PATH, body: write }, options);
  }

  /** Who is present in the group, in order of ID. */
  list(filter: PresenceFilter & ViewerGroup = {}, options?: CallOptions): PagedList<PresenceEntry> {
    const query = { groupID: filter.groupID, ...filterQuery(filter) };
    return listAt(this.#transport, () => PATH, 'users', options, query);
  }

  /** How many users are present in the group. @throws RollcallError */
  async count(filter: PresenceFilter & ViewerGroup = {}, options?: CallOptions): Promise<number> {
    return countAt(this.#transport, PATH, { groupID: filter.groupID, ...filterQuery(filter) }, options);
  }

  /** Keeps the viewer present until `leave()` or the page goes. Nothing is thrown: see `ended` and `onError`. */
  announce({ groupID, ...options }: ViewerAnnounceOptions): Announcement {
    const outgoing = (update: PlaceUpdate) =>
      ({ method: 'PUT', path: PATH, body: { groupID, ...update } }) as const;
    const sender = {
      send: (update: PlaceUpdate, call: CallOptions) => this.#transport.send(outgoing(update), call),
      dispatch: (update: PlaceUpdate) => this.#transport.dispatch(outgoing(update)),
    };
    // Where the token names the group, the user is the token's too.
    const scope = JSON.stringify([this.#transport.base, PATH, groupID ?? null]);
    return this.#announcements.announce(scope, sender, options);
  }

  /** Follows the group's presence: `for await (const event of client.presence.watch())`. */
  watch({ groupID, ...options }: ViewerWatchOptions = {}): PresenceWatch {
    return new PresenceWatch(this.#transport, () => PATH, { groupID, ...filterQuery(options) }, options);
  }
}
