import type { PresenceFilter, PresenceReading, ViewerGroup } from '../http/filter.ts';
import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions } from '../http/transport.ts';
import type { Announcement, AnnouncementOptions } from '../presence/announcement.ts';
import type { Done, PresenceEntry, ViewerPresenceWrite } from '../protocol.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';
import type { PresenceWatch } from '../streams/watches.ts';
import { listAt } from './list-at.ts';
import { PresenceResource } from './presence-resource.ts';

/** Where to announce the viewer. */
export interface ViewerAnnounceOptions extends AnnouncementOptions, ViewerGroup {}

/** Which group's presence to watch. */
export interface ViewerWatchOptions extends PresenceReading, StreamOptions, ViewerGroup {}

const path = () => '/v1/client/presence';

/** Presence in the viewer's groups, and the viewer's own. */
export class ViewerPresence extends PresenceResource {
  /** Sets the viewer present or absent. It expires; {@link announce} refreshes it. @throws RollcallError */
  async put(body: ViewerPresenceWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json('PUT', path(), options, { body });
  }

  /** The users present in the group, in order of ID. */
  list(filter: PresenceReading & ViewerGroup = {}, options?: CallOptions): PagedList<PresenceEntry> {
    return listAt(this.transport, path, 'users', options, filter);
  }

  /** How many users are present in the group. @throws RollcallError */
  count(filter: PresenceFilter & ViewerGroup = {}, options?: CallOptions): Promise<number> {
    return this.countAt(path, filter, options);
  }

  /** Announces the viewer until `leave()` or the page unloads. Does not throw: see `ended` and `onError`. */
  announce({ groupID, ...options }: ViewerAnnounceOptions): Announcement {
    // The user is the token's, and so is the group where there is no groupID.
    return this.announcements.announce(path(), groupID, path, options);
  }

  /** The presence events of the group: `for await (const event of client.presence.watch())`. */
  watch(options: ViewerWatchOptions = {}): PresenceWatch {
    return new Watch(this.transport, path, options, { op: 'watch' });
  }
}
