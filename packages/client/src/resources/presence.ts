import type { PresenceFilter, PresenceReading } from '../http/filter.ts';
import type { PagedList } from '../http/paged-list.ts';
import { path } from '../http/path.ts';
import type { CallOptions } from '../http/transport.ts';
import type { Announcement, AnnouncementOptions } from '../presence/announcement.ts';
import type { Done, PresenceEntry, PresenceUpdate, PresenceUpdatesDone, PresenceWrite } from '../protocol.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';
import type { PresenceWatch } from '../streams/watches.ts';
import { listAt } from './list-at.ts';
import { PresenceResource } from './presence-resource.ts';

/** The group. */
export interface InGroup {
  readonly groupID: string;
}

/** Which user to announce, and where. */
export interface AnnounceOptions extends AnnouncementOptions, InGroup {
  readonly userID: string;
}

/** Which group's presence to watch. */
export interface WatchOptions extends PresenceReading, StreamOptions, InGroup {}

/** The presence of a project's users. */
export class Presence extends PresenceResource {
  /** Sets a user present at a location, or absent from it. It expires; {@link announce} refreshes it. @throws RollcallError */
  async put(userID: string, body: PresenceWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json('PUT', ofUser(userID), options, { body });
  }

  /** Up to 1,000 updates. Not atomic: the response lists the rejected ones and why. @throws RollcallError */
  async putMany(updates: readonly PresenceUpdate[], options?: CallOptions): Promise<PresenceUpdatesDone> {
    return this.transport.json('PUT', '/v1/presence', options, { body: { updates } });
  }

  /** The locations of one user in a group. @throws RollcallError */
  async get(
    userID: string,
    groupID: string,
    { expand, ...options }: CallOptions & Pick<PresenceReading, 'expand'> = {},
  ): Promise<PresenceEntry> {
    return this.transport.json('GET', ofUser(userID), options, { query: { groupID, expand } });
  }

  /** The users present in a group, in order of ID. */
  list({ groupID, ...filter }: PresenceReading & InGroup, options?: CallOptions): PagedList<PresenceEntry> {
    return listAt(this.transport, inGroup(groupID), 'users', options, filter);
  }

  /** How many users are present in a group. @throws RollcallError */
  count({ groupID, ...filter }: PresenceFilter & InGroup, options?: CallOptions): Promise<number> {
    return this.countAt(inGroup(groupID), filter, options);
  }

  /** Announces a user until `leave()`. Does not throw: see `ended` and `onError`. */
  announce({ userID, groupID, ...options }: AnnounceOptions): Announcement {
    return this.announcements.announce(userID, groupID, () => ofUser(userID), options);
  }

  /** The presence events of a group: `for await (const event of rollcall.presence.watch({ groupID }))`. */
  watch({ groupID, ...options }: WatchOptions): PresenceWatch {
    return new Watch(this.transport, inGroup(groupID), options);
  }
}

const ofUser = (userID: string) => path`/v1/users/${userID}/presence`;
const inGroup = (groupID: string) => () => path`/v1/groups/${groupID}/presence`;
