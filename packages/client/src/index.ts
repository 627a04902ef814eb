export type { ConnectionState, ConnectionStatus, Observable } from './connection-status.ts';
export type {
  LocationFilter,
  MessageOrder,
  PresenceFilter,
  PresenceReading,
  ThreadFilter,
  ViewerGroup,
} from './http/filter.ts';
export type { Page, PagedList, PageOptions } from './http/paged-list.ts';
export type { Token } from './http/token-source.ts';
export type { CallOptions, ConnectionOptions } from './http/transport.ts';
export type { AnnouncedLocation } from './presence/announced-location.ts';
export type { Announcement, AnnouncementOptions } from './presence/announcement.ts';
export type {
  PresenceArrived,
  PresenceDataChanged,
  PresenceDeparted,
  PresenceDurable,
  PresenceEvent,
  PresenceSnapshot,
  PresenceUserChanged,
} from './presence/presence-event.ts';
export { NOBODY, type PresenceState, presenceAfter } from './presence/presence-state.ts';
export { sameLocation } from './presence/same-location.ts';
export type * from './protocol.ts';
export type * from './resources/conversation-event.ts';
export type { Groups } from './resources/groups.ts';
export type { Health } from './resources/health.ts';
export type { Precondition, Tagged } from './resources/keyed-resource.ts';
export type { Messages } from './resources/messages.ts';
export type { Preferences } from './resources/preferences.ts';
export type { AnnounceOptions, InGroup, Presence, WatchOptions } from './resources/presence.ts';
export type { Projects } from './resources/projects.ts';
export type { Threads, ThreadsWatchOptions } from './resources/threads.ts';
export type { Tokens } from './resources/tokens.ts';
export type { Users } from './resources/users.ts';
export type { ViewerMessages } from './resources/viewer-messages.ts';
export type {
  ViewerAnnounceOptions,
  ViewerPresence,
  ViewerWatchOptions,
} from './resources/viewer-presence.ts';
export type { ViewerThreads, ViewerThreadsWatchOptions } from './resources/viewer-threads.ts';
export type { Webhooks } from './resources/webhooks.ts';
export { type BatchOptions, Rollcall } from './rollcall.ts';
export { type ClientOptions, RollcallClient } from './rollcall-client.ts';
export { RollcallError, type RollcallErrorCode } from './rollcall-error.ts';
export type { StreamOptions, Watch } from './streams/watch.ts';
export type { MessagesWatch, PresenceWatch, ThreadsWatch } from './streams/watches.ts';
