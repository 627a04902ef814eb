export type { Page, PagedList, PageOptions } from './http/paged-list.ts';
export type { Token } from './http/token-source.ts';
export type { CallOptions, ConnectionOptions } from './http/transport.ts';
export type { AnnouncedLocation, Announcement, AnnouncementOptions } from './presence/announcement.ts';
export type {
  PresenceArrived,
  PresenceDeparted,
  PresenceDurable,
  PresenceEvent,
  PresenceSnapshot,
} from './presence/presence-event.ts';
export { NOBODY, type PresenceState, presenceAfter } from './presence/presence-state.ts';
export type { PresenceWatch, StreamOptions } from './presence/presence-watch.ts';
export { sameLocation } from './presence/same-location.ts';
export type * from './protocol.ts';
export type { Precondition, Tagged } from './resources/keyed-resource.ts';
export type { AnnounceOptions, WatchOptions } from './resources/presence.ts';
export type { PresenceFilter } from './resources/presence-filter.ts';
export type { ViewerAnnounceOptions, ViewerGroup, ViewerWatchOptions } from './resources/viewer-presence.ts';
export { type BatchOptions, Rollcall } from './rollcall.ts';
export { RollcallClient } from './rollcall-client.ts';
export { RollcallError, type RollcallErrorCode } from './rollcall-error.ts';
