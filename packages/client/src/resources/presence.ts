import type { PagedList } from '../http/paged-list.ts';
import { path } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { PlaceUpdate } from '../presence/announced-places.ts';
import type { Announcement, AnnouncementOptions } from '../presence/announcement.ts';
import type { Announcements } from '../presence/announcements.ts';
import { PresenceWatch, type StreamOptions } from '../presence/presence-watch.ts';
import type { Done, PresenceEntry, PresenceUpdate, PresenceUpdatesDone, PresenceWrite } from '../protocol.ts';
import { listAt } from './list-at.ts';
import { countAt, filterQuery, type PresenceFilter } from './presence-filter.ts';

/** Whom to keep present, and where. */
export interface AnnounceOptions extends AnnouncementOptions {
  readonly userID: string;
  readonly groupID: string;
}

/** Which group's presence to follow. */
export interface WatchOptions extends PresenceFilter, StreamOptions {
  readonly groupID: string;
}

/** Who is where, right now. */
export class Presence {
  readonly #transport: Transport;
  readonly #announcements: Announcements;

  /** @internal */
  constructor(transport: Transport, announcements: Announcements) {
    this.#transport = transport;
    this.#announcements = announcements;
  }

  /** Sets a user present at a location, or absent from it, once: it expires. {@link announce} goes on. @throws RollcallError */
  async put(userID: string, write: PresenceWrite, options?: CallOptions): Promise<Done> {
    return this.#transport.json(updateOf(userID, write), options);
  }

  /** Up to 1,000 updates. Not atomic: the answer says which were refused and why. @throws RollcallError */
  async putMany(updates: readonly PresenceUpdate[], options?: CallOptions): Promise<PresenceUpdatesDone> {
    return this.#transport.json({ method: 'PUT', path: '/v1/presence', body: { updates } }, options);
  }

  /** Where one user is in a group. @throws RollcallError */
  async get(userID: string, groupID: string, options?: CallOptions): Promise<PresenceEntry> {
    const request = { method: 'GET', path: path`/v1/users/${userID}/presence`, query: { groupID } } as const;
    return this.#transport.json(request, options);
  }

  /** Who is present in a group, in order of ID. */
  list(groupID: string, filter: PresenceFilter = {}, options?: CallOptions): PagedList<PresenceEntry> {
    const groupPath = () => path`/v1/groups/${groupID}/presence`;
    return listAt(this.#transport, groupPath, 'users', options, filterQuery(filter));
  }

  /** How many users are present in a group. @throws RollcallError */
  async count(groupID: string, filter: PresenceFilter = {}, options?: CallOptions): Promise<number> {
    return countAt(this.#transport, path`/v1/groups/${groupID}/presence`, filterQuery(filter), options);
  }

  /** Keeps a user present until `leave()`. Nothing is thrown: see `ended` and `onError`. */
  announce({ userID, groupID, ...options }: AnnounceOptions): Announcement {
    const outgoing = (update: PlaceUpdate) => updateOf(userID, { groupID, ...update });
    const sender = {
      send: async (update: PlaceUpdate, call: CallOptions) => this.#transport.send(outgoing(update), call),
      dispatch: (update: PlaceUpdate) => this.#transport.dispatch(outgoing(update)),
    };
    const scope = JSON.stringify([this.#transport.base, userID, groupID]);
    return this.#announcements.announce(scope, sender, options);
  }

  /** Follows a group's presence: `for await (const event of rollcall.presence.watch({ groupID }))`. */
  watch({ groupID, ...options }: WatchOptions): PresenceWatch {
    return new PresenceWatch(
      this.#transport,
      () => path`/v1/groups/${groupID}/presence`,
      filterQuery(options),
      options,
    );
  }
}

const updateOf = (userID: string, body: unknown) =>
  ({ method: 'PUT', path: path`/v1/users/${userID}/presence`, body }) as const;
