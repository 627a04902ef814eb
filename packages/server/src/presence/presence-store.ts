/**
 * The PresenceStore: ephemeral presence. This file is the contract; the suite in test/contract/presence-store-contract.ts
 * tests every driver against it.
 *
 * - **Deadlines are absolute and filtered on read.** A presence ends at `expiresAt`, whether or not it has been swept; a late
 *   sweep is harmless. `now` and `expiresAt` are milliseconds since the epoch. A driver reads no clock.
 * - **A clock that is set back.** Where `now` of a sweep is more than {@link SET_BACK_MS} before that of the sweep before it, of the same
 *   process, deadlines are brought forward: no presence lasts longer than the longest time to live of an update. The driver in memory
 *   does so however little the clock was set back.
 * - **Regions.** A user has one location per (user, group, region). The region is the canonical text of `exclusiveWithin`, or
 *   of the location itself without it. A user can be at one location in several regions: a reading has it once, and it ends
 *   when the last of these regions leaves it.
 * - **Locations** are canonical texts (`canonicalLocation` of the protocol): equal texts, equal locations.
 * - **Bounds.** A location has at most `limits.LOCATION_MAX_BYTES` of text. In one group a user has at most
 *   `limits.EPHEMERAL_LOCATIONS_MAX` regions with a location, and these locations have at most
 *   `limits.EPHEMERAL_LOCATIONS_MAX_BYTES` of text (UTF-8); a location in two regions counts twice. A `set` that exceeds a
 *   bound ends other presences of the user in the same atomic step, the earliest deadline first. The order among equal
 *   deadlines is open. An index names a region or a location by a text of bounded length.
 * - **Connections.** A region has one *hold* for each connection that set it, and one for the updates without a connection. Each
 *   hold has its own location, deadline and data. The newest live hold is where the user is in the region; the others are remembered
 *   and not shown. A hold is as new as its last change of location: refreshing it changes nothing, while a hold that ended and is
 *   set again is new. So the user leaves a region when its last hold ends, and is at the location of the next newest hold when the
 *   newest one ends. A method that names no connection is about the hold without one, unless its text names another.
 * - **Bounds of holds.** The bounds above count each location of a region once, however many connections hold it, remembered ones
 *   included; the location with the earliest deadline ends with all of its holds. In one group a user has at most
 *   `limits.CONNECTIONS_MAX` connections with a hold, and `limits.HOLDS_MAX` holds: one more ends those of the connection, or the
 *   hold, with the earliest deadline. The deadline of a location or a connection is the latest of its holds.
 * - **Leases.** A hold can belong to a lease instead of having a deadline of its own. A lease is of one group and of one process,
 *   which names it, and its deadline is that of all its holds: one step extends it, however many there are. Holds of a lease that
 *   reached its deadline ended; the lease never lives again, and its name may be used for a new one when it is swept. It lives until
 *   then without holds too, and counts its updates. So a process can distinguish holds that were ended, by an absence or a bound, from
 *   those that the engine has lost, with the lease or with its last updates.
 * - **Releases.** A connection that closed is released at a later time, so that it can come back: until then its holds live, and a
 *   `set` of the connection takes back the hold that it sets, `retain` all of them.
 * - **Data** is a JSON text of at most `limits.PRESENCE_DATA_MAX_BYTES`. It belongs to a hold. The data of a location are those of
 *   the newest hold that is shown there, in any region; null where that hold has none.
 * - **Atomic.** Each method is one atomic step. Two racing updates leave the result of one of their orders.
 * - **Cost.** A reading costs what its answer has and the depth of an index, not what else is in the group. The cost of a
 *   write does not grow with the number of present users. No reading is unbounded: see {@link PresentUsers}.
 * - **Memberships.** Eligibility is not checked here; readers filter by `Store.eligibility.filter`. A presence belongs to the
 *   membership for which it was set, named by its incarnation, and all presences of a user in a group belong to one
 *   membership: a `set` for another membership ends the presences of the earlier one in the same atomic step, each with a
 *   `departed` event. So presence of an ended membership is never shown for a new one, even when the engine could not be reached
 *   at its end.
 * - **Watching.** A watcher receives the changes of a group in one order, the same on every process. Each change has the next
 *   offset of the group; the change and its offset are one atomic step. Offsets count within an epoch. A group that lost its
 *   count (a restart, an eviction) begins another epoch. The last {@link HISTORY_LENGTH} events of a watched group can be
 *   read again, fewer where events are long. A group without a watcher has no history and pays for none. The history lasts
 *   {@link WATCH_LEASE_MS} after the last renewal of a watch, so a watcher who reconnects by then misses nothing.
 * - **A count that goes back.** An engine that loses its last writes (a failover, a restart from an older snapshot) counts
 *   the same offsets again within the epoch. A position therefore has a checksum of the event at its offset, and
 *   `since` answers null where the engine has another event there.
 */

import type { Metric } from '../metrics/metric.ts';
import type { Incarnation } from '../values/incarnation.ts';
import type { Json } from '../values/json.ts';
import type { LocationFilter } from '../values/location-filter.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { ConnectionHold } from './connection-hold.ts';

/** A group of a project. All presence is within one. */
export interface PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
}

export interface PresenceUpdate extends PresenceScope {
  readonly userId: string;
  readonly incarnation: Incarnation;
  readonly region: Json;
  readonly location: Json;
  /** The deadline. With a lease, that of the lease is moved to this time unless it is later already. */
  readonly expiresAt: number;
  readonly now: number;
  /** The connection that holds the location: 1 to 64 visible characters of ASCII. Absent: an update without a connection. */
  readonly connection?: string;
  /** The lease that the hold belongs to from now on, of the same characters; absent: to none. Only with a connection. */
  readonly lease?: string;
  /** Replaces the data of the hold; null removes them, absent leaves them. */
  readonly data?: Json | null;
  /** When nothing is done, and `holdEnded` answered. Only with a connection. */
  readonly condition?: HoldCondition;
}

/**
 * `refresh`: unless the hold is live, at this location, for this membership and of no other lease. `takeOver`: the same, of any lease.
 * `unleased`: where the hold is live, for this membership and of another lease, so that its connection is open on another process.
 */
export type HoldCondition = 'refresh' | 'takeOver' | 'unleased';

/** The change that an update made for watchers. A refresh of the same location changes nothing. */
export interface PresenceChange {
  /** The user was not at the location before. */
  readonly arrived: boolean;
  /** The user had no live presence in this region before, so the caller checks eligibility once more. */
  readonly created: boolean;
  /** The location that the region had and the user is no longer at, in any region; else null. No sweep reports it, expired or not. */
  readonly departed: Json | null;
  /** The lease of the update has ended and is not swept yet, so nothing was done: use another one. Absent otherwise. */
  readonly leaseEnded?: true;
  /** Nothing was done because of the condition. Absent otherwise. */
  readonly holdEnded?: true;
}

export const UNCHANGED: PresenceChange = Object.freeze({ arrived: false, created: false, departed: null });

/** Locations of a user in ascending order of text, each once. */
export interface UserLocations {
  readonly locations: readonly Json[];
  /** The data of each location; absent where none of them has any. */
  readonly data?: readonly (Json | null)[];
}

export interface PresentUser extends UserLocations {
  readonly userId: string;
  /** The membership for which the locations were set. */
  readonly incarnation: Incarnation;
}

/** A lease that has not ended. */
export interface LeaseState {
  /** How many updates with the lease were applied, refreshes among them, since it began. */
  readonly updates: number;
  /** How many live holds belong to it: those that are to be released do not. */
  readonly holds: number;
}

export interface ConnectionScope extends PresenceScope {
  readonly userId: string;
  readonly connection: string;
}

/** A reading ends once it has this many bytes of locations and data; the last user is read whole. */
export const READING_MAX_BYTES = 1_048_576;
/** A reading ends once it went through this many presences; the last user is read whole. */
export const READING_MAX_PRESENCES = 10_000;

/**
 * Some of the users present in a group. A reading ends with `limit` users, or earlier after {@link READING_MAX_PRESENCES}
 * presences, passing the filter or not, or {@link READING_MAX_BYTES}. So it may have fewer users than `limit`, even none, and
 * not be the last one. Each user in it is whole.
 */
export interface PresentUsers {
  /** In ascending order of ID by code point. */
  readonly users: readonly PresentUser[];
  /** The user ID after which the next reading starts; null when nothing follows. */
  readonly next: string | null;
  /** The group's offset at which this was read; 0 without a watcher. */
  readonly offset: number;
}

/** A presence that reached its deadline. */
export interface Expiry extends PresenceScope {
  readonly userId: string;
  readonly location: Json;
}

/** Further than clocks of processes differ, in milliseconds. */
export const SET_BACK_MS = 60_000;

/** How many events of a watched group can be read again. */
export const HISTORY_LENGTH = 1_000;
/** Above this much text (characters, or bytes of UTF-8 on Redis) the oldest are dropped; the last event stays. */
export const HISTORY_MAX_LENGTH = 1_048_576;
/** How long a group stays watched without a renewal, in milliseconds. */
export const WATCH_LEASE_MS = 60_000;

/** How far a reader has followed a group's events: `offset` is the last event that the reader has. */
export interface PresencePosition {
  /** 1 to 64 characters of `A-Za-z0-9_`. */
  readonly epoch: string;
  readonly offset: number;
  /**
   * Of the event at the offset: 1 to 64 characters of `0-9a-f`. Absent where no event is known there, or where the engine
   * never loses a write within an epoch; the position is then taken as it is.
   */
  readonly checksum?: string;
}

/** Why a user is no longer at a location. */
export type LeaveReason = 'absent' | 'expired' | 'removed';

/** A change of a group's presence, as its watchers receive it. */
export type PresenceEvent =
  /**
   * The user is at the location. `from` is the location that the region had and the user has left (a move); null where
   * there is none. The user may have been at the location before, in another region.
   */
  | {
      readonly type: 'arrived';
      readonly userId: string;
      readonly incarnation: Incarnation;
      readonly location: Json;
      readonly from: Json | null;
      /** The data of the location from now on; absent where it has none. */
      readonly data?: Json;
    }
  /** The data of a location where the user is; null where it has none any more. */
  | { readonly type: 'data'; readonly userId: string; readonly location: Json; readonly data: Json | null }
  /** The connection is to be released at a later time. A process that still has the connection open calls `retain`. */
  | { readonly type: 'releasing'; readonly userId: string; readonly connection: string }
  /** The user has left the location. With `removed`, a bound or a new membership of the user ended it. */
  | {
      readonly type: 'departed';
      readonly userId: string;
      readonly location: Json;
      readonly reason: LeaveReason;
    }
  | GroupEvent
  /** The users are no longer members: their presence ended, the durable too. A large set comes as several events. */
  | { readonly type: 'usersRemoved'; readonly userIds: readonly string[] }
  /** The group was removed, and all presence in it. */
  | { readonly type: 'groupRemoved' };

export type NumberedEvent = readonly [offset: number, event: PresenceEvent];

/** A change in the Store that concerns the watchers of a group: see {@link PresenceStore.publish}. */
export type GroupEvent =
  /** The user's durable location was set, in place of `from` where the region had another one. */
  | {
      readonly type: 'durable';
      readonly userId: string;
      readonly location: Json;
      readonly at: number;
      readonly from: Json | null;
      /** The user's latest time before: where a watcher knows another one, it lacks an event. Earlier versions did not publish it. */
      readonly latestBefore?: number | null;
      /** Only where a bound ended durable locations of the user, the oldest ones: the latest of their times names all of them. */
      readonly endedTo?: number;
    }
  /** The users were set deleted, or active again; they may or may not be members or present. */
  | { readonly type: 'users'; readonly userIds: readonly string[] }
  /** The names or pictures of the users changed; they may or may not be members or present. */
  | { readonly type: 'profiles'; readonly userIds: readonly string[] }
  /** The group was set deleted, or active again. */
  | { readonly type: 'group' };

/** Receives a group's events. Neither function may throw. */
export interface PresenceWatcher {
  /**
   * Called in order, without a gap: the first has the offset after the watch's position. The checksum is that of a
   * {@link PresencePosition}, where the engine has one.
   */
  onEvent(offset: number, event: PresenceEvent, checksum?: string): void;
  /** The order is broken (the engine was away, or the group is in a new epoch). Nothing more comes: close, and watch again. */
  onLost(): void;
}

export interface PresenceWatch {
  /** The group's position when the watch began: every earlier change can be read, every later one is an event. */
  readonly position: PresencePosition;
  /** The events after the position, in order; null when some are dropped, or the position is not of this history. */
  since(position: PresencePosition): Promise<readonly NumberedEvent[] | null>;
  /**
   * Renews the lease and compares the watch with the engine: a watch that missed an event, or whose group the engine has
   * lost, gets `onLost`. Call it every few seconds: the interval bounds how long a lost message goes unnoticed.
   */
  renew(now: number): Promise<void>;
  /** Ends the calls at once. The history stays until the lease runs out. Idempotent. */
  close(): void;
}

/** How much presence there is, in all projects: holds, and groups with at least one. */
export type PresenceCount = Readonly<Record<'presences' | 'groups', number>>;

export interface PresenceStore {
  /** The durations and errors of the driver: docs/metrics.md names them. Reading them calls no server. */
  readonly metrics: readonly Metric[];
  /** Whether presence is in this process alone. */
  readonly isInProcess: boolean;
  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Releases everything. Idempotent. */
  close(): Promise<void>;

  /**
   * Sets the user present at the location until `expiresAt`; it replaces the region's earlier location. Where that exceeds
   * the bounds, other locations of the user end after it, each with a `departed` event when no other region has it: `expired`
   * where its deadline has passed (no sweep reports it again), else `removed`.
   */
  set(update: PresenceUpdate): Promise<PresenceChange>;
  /**
   * Ends the user's holds of exactly this location, in every region, of every holder, and whether or not the user is shown there;
   * with a connection, the holds of this connection alone. True when one of them was live, or else nothing is done.
   */
  clear(
    presence: PresenceScope & { userId: string; location: Json; now: number; connection?: string },
  ): Promise<boolean>;
  /**
   * Releases the holds of a connection in the group that belong to the lease; without one, those that belong to none, since a lease
   * is of a process that has the connection open. They end at the time `at`, unless their deadline comes first, or at once
   * where `at` is not after `now`, for the reason (default: `absent`). Otherwise watchers get `releasing` where the connection has such
   * a hold.
   */
  release(
    release: ConnectionScope & { lease?: string; at: number; now: number; reason?: LeaveReason },
  ): Promise<void>;
  /** Takes back a release: each live hold of the connection has the deadline that it, or its lease, had before, and no lease. */
  retain(connection: ConnectionScope & { now: number }): Promise<void>;
  /** The live holds of a connection, the oldest first, that belong to a lease or are to be released: a process has or had them. */
  holdsOf(connection: ConnectionScope & { now: number }): Promise<readonly ConnectionHold[]>;
  /** Extends a lease, in one small step. Null, without a change, where it has ended: the process sets its holds again with another one. */
  renewLease(
    lease: PresenceScope & { lease: string; expiresAt: number; now: number },
  ): Promise<LeaseState | null>;
  /** Users after `after` who are present at locations that pass the filter; of each, the locations that pass. */
  find(
    reading: PresenceScope & { filter: LocationFilter; after: string | null; limit: number; now: number },
  ): Promise<PresentUsers>;
  /** The locations of one user in the group, for one membership. */
  locationsOf(
    reading: PresenceScope & { userId: string; incarnation: Incarnation; now: number },
  ): Promise<UserLocations>;

  /** Ends all presence of users who stopped being members of the group. A `usersRemoved` event names them all. */
  removeUsers(scope: PresenceScope, userIds: readonly string[], now: number): Promise<void>;
  /** Ends all presence in a removed group: a `groupRemoved` event. */
  removeGroup(scope: PresenceScope, now: number): Promise<void>;
  /** Ends all presence in a removed project; each watched group of it has a `groupRemoved` event. */
  removeProject(project: ProjectKey, now: number): Promise<void>;

  /**
   * Drops the holds that reached their deadline by `now`, and returns where users left a location, in order of deadline second: each
   * once among all sweeping processes, and none that a `set` reported. Each is also a `departed` event of its group. Where a region
   * has another live hold, the user moves to its location instead: an `arrived` event with `from`, and no expiry.
   */
  sweep(now: number): Promise<Expiry[]>;

  /**
   * How much presence there is, on all processes. Exact with few groups; with very many, an estimate from some of them, so that its
   * cost is bounded. What has expired counts until a sweep drops it.
   */
  count(): Promise<PresenceCount>;

  /** Watches a group from now on. Close every watch before the store. */
  watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch>;
  /** The groups of the project that are watched, on any process; in no order. */
  watchedGroups(project: ProjectKey, now: number): Promise<string[]>;
  /**
   * Publishes a change in the Store to the group's watchers, in order with the group's other events. Published twice, it
   * is two events; unless `upTo` is given, a position in the record of changes: then nothing is published where an event up to
   * that position was. So of several processes that find the same change in the record, one publishes it.
   */
  publish(scope: PresenceScope, event: GroupEvent, now: number, upTo?: number): Promise<void>;
}
