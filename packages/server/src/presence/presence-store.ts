/**
 * The PresenceStore: who is where right now, ephemerally. This file is the contract; a driver implements it and the
 * suite in test/contract/presence-store-contract.ts holds every driver to it.
 *
 * - **Deadlines are absolute and filtered on read.** A presence ends at `expiresAt` whether or not it has been swept;
 *   sweeping late is harmless. `now` and `expiresAt` are milliseconds since the epoch, and a driver reads no clock.
 * - **Regions.** A user has one location per (user, group, region). The region is the canonical text of
 *   `exclusiveWithin`, or of the location itself where that was not given. The same location may be held in several
 *   regions; it is read once, and ends when the last of them does.
 * - **Locations** are canonical texts (`canonicalLocation` of the protocol): equal texts, equal locations.
 * - **Bounds.** A location has at most `limits.LOCATION_MAX_BYTES` of text. In one group a user has at most
 *   `limits.EPHEMERAL_LOCATIONS_MAX` regions with a location, and these locations have at most
 *   `limits.EPHEMERAL_LOCATIONS_MAX_BYTES` of text (UTF-8); one that is in two regions counts twice. A `set` that exceeds
 *   one of the two ends others of this user, those with the earliest deadline first, in the same atomic step. Of several
 *   with one deadline it may be any. An index names a region or a location by a text of bounded length, never by its own
 *   where that is long.
 * - **Atomic.** Each method is one atomic step; two racing updates leave the result of one of their orders.
 * - **Cost.** A reading costs what its answer holds and the depth of an index, not what else is in the group; a write
 *   does not cost more because many are present. No reading is unbounded: see {@link PresentUsers}.
 * - **Memberships.** Whether a user may be present is not checked here: readers filter by `Store.presentable`. Each presence
 *   belongs to the membership for which it was set, named by its incarnation, and all presences of a user in a group belong to
 *   one: a `set` for another ends those that are there, in the same atomic step, each with a `left` event. So what a user left
 *   behind, because the engine could not be reached when the membership ended, is never shown for a new membership.
 * - **Watching.** Whoever watches a group is told of its changes in one order, the same on every process: each has the
 *   next offset of the group, and a change and its offset are one atomic step. Offsets count within an epoch; a group
 *   that lost its count (a restart, an eviction) goes on in another epoch. The last {@link HISTORY_LENGTH} events (of long ones, fewer) of a
 *   watched group can be read again. A group that nobody watches keeps no history and pays for none; it is watched until
 *   {@link WATCH_LEASE_MS} after its last watcher was heard of, so that one who comes back soon misses nothing.
 * - **A count that goes back.** An engine that loses its last writes (a failover, a restart from an older snapshot) counts
 *   the same offsets again within the epoch. A position therefore carries a checksum of the event at its offset, and
 *   `since` answers null where the engine has another event there.
 */
import type { Incarnation, Json, LocationFilter, ProjectKey } from '../store/store.ts';

/** A group of a project: what all presence is within. */
export interface PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
}

export interface PresenceUpdate extends PresenceScope {
  readonly userId: string;
  readonly incarnation: Incarnation;
  readonly region: Json;
  readonly location: Json;
  readonly expiresAt: number;
  readonly now: number;
}

/** What an update changed for those who watch. A refresh of the same place changes nothing. */
export interface PresenceChange {
  /** The user was not at the location before. */
  readonly arrived: boolean;
  /** The user had no live presence in this region before: whoever set it looks once more whether that was allowed. */
  readonly created: boolean;
  /**
   * The location that the region had and the user is no longer at, in any region; else null. It is told here also when
   * its deadline had passed and no sweep had said so; then none will.
   */
  readonly departed: Json | null;
}

/** A user and the locations at which they are, in ascending order of text. */
export interface PresentUser {
  readonly userId: string;
  /** Of the membership for which they were set. */
  readonly incarnation: Incarnation;
  readonly locations: readonly Json[];
}

/** With how many bytes of location text one reading ends, and those of one user more. */
export const READING_MAX_BYTES = 1_048_576;
/** With how many presences one reading ends that it went through, and those of one user more. */
export const READING_MAX_PRESENCES = 10_000;

/**
 * A part of those who are present in a group. It ends with `limit` users, or before that when it has gone through
 * {@link READING_MAX_PRESENCES}, whether or not they passed the filter, or has {@link READING_MAX_BYTES}. So it may have
 * fewer users than `limit`, even none, and yet not be the last part. Each user in it is whole.
 */
export interface PresentUsers {
  /** In ascending order of ID by code point. */
  readonly users: readonly PresentUser[];
  /** The user ID after which the next part starts; null when nothing follows. */
  readonly next: string | null;
}

/** A presence that reached its deadline. */
export interface Expiry extends PresenceScope {
  readonly userId: string;
  readonly location: Json;
}

/** How many events of a watched group are kept for those who come back. */
export const HISTORY_LENGTH = 1_000;
/** With how many characters of text the oldest of these go, but for the last event. */
export const HISTORY_MAX_LENGTH = 1_048_576;
/** How long a group goes on being watched without a sign of life of a watcher, in milliseconds. */
export const WATCH_LEASE_MS = 60_000;

/** How far a reader has followed a group's events: `offset` is the last one that the reader knows. */
export interface PresencePosition {
  /** 1 to 64 characters of `A-Za-z0-9_`. */
  readonly epoch: string;
  readonly offset: number;
  /**
   * Of the event at the offset: 1 to 64 characters of `0-9a-f`. Absent where no event is known there, or where the engine
   * never loses a write while it keeps the epoch; then the position is believed.
   */
  readonly checksum?: string;
}

/** Why a user is at a location no more. */
export type LeaveReason = 'absent' | 'expired' | 'removed';

/** A change of who is where in a group, as far as those who watch can tell. */
export type PresenceEvent =
  /**
   * The user is at the location. `left` is the location that the region had and the user is at no more (they moved);
   * null where they came. The user may have been at the location before, by another region.
   */
  | {
      readonly type: 'placed';
      readonly userId: string;
      readonly incarnation: Incarnation;
      readonly location: Json;
      readonly left: Json | null;
    }
  /** The user is at the location no more. With `removed`, a bound or a new membership of the user ended it. */
  | {
      readonly type: 'left';
      readonly userId: string;
      readonly location: Json;
      readonly reason: LeaveReason;
    }
  | ToldEvent
  /** The users are no members any more: their presence ended, the durable too. Large sets come as several events. */
  | { readonly type: 'removed'; readonly userIds: readonly string[] }
  /** The group is no more, and all presence in it. */
  | { readonly type: 'gone' };

/** What happens in the Store and is told to those who watch a group: see {@link PresenceStore.tell}. */
export type ToldEvent =
  /** The user's durable location was set, in place of `left` where the region had another one. */
  | {
      readonly type: 'durable';
      readonly userId: string;
      readonly location: Json;
      readonly at: number;
      readonly left: Json | null;
      /**
       * Only where the user had too many durable locations: the latest time of those that ended. It stands for all of
       * them, since they are the oldest ones, so the event stays small however many ended.
       */
      readonly endedTo?: number;
    }
  /** The users were set deleted, or active again; they may or may not be members or present. */
  | { readonly type: 'users'; readonly userIds: readonly string[]; readonly active: boolean }
  /** The group was set deleted, or active again. */
  | { readonly type: 'group'; readonly active: boolean };

/** Who hears of a group's events. Neither function may throw. */
export interface PresenceWatcher {
  /**
   * Called in order, without a gap: the first has the offset after the watch's position. The checksum is that of a
   * {@link PresencePosition}, where the engine has one.
   */
  onEvent(offset: number, event: PresenceEvent, checksum?: string): void;
  /** The order is broken (the engine was away, or the group is in a new epoch): nothing more comes; close and watch anew. */
  onLost(): void;
}

export interface PresenceWatch {
  /** Where the group was when the watch began: every change before it can be read, every later one is told. */
  readonly position: PresencePosition;
  /** The events after the position up to now, in order; null when they are not all kept, or the position is of a lost past. */
  since(
    position: PresencePosition,
  ): Promise<readonly (readonly [offset: number, event: PresenceEvent])[] | null>;
  /**
   * Renews the lease, and compares the watch with the engine: a watch that missed something, or whose group the engine has
   * lost, gets `onLost`. Due every few seconds, which bounds how long a lost message goes unnoticed.
   */
  renew(now: number): Promise<void>;
  /** Ends the calls at once. The history stays until the lease runs out. Idempotent. */
  close(): void;
}

/** A part of all that is present in a group, at one moment of its events. */
export interface PresenceSnapshot extends PresentUsers {
  /** The position of the group at which this was read; 0 where nobody watches. */
  readonly offset: number;
}

export interface PresenceStore {
  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Releases everything. Idempotent. */
  close(): Promise<void>;

  /**
   * Sets the user present at the location until `expiresAt`, in place of where the region had them. Where that exceeds the
   * bounds, other locations of the user end after it, each with a `left` event when no other region has it: `expired` where
   * its deadline has passed (no sweep reports it again), else `removed`.
   */
  set(update: PresenceUpdate): Promise<PresenceChange>;
  /** Ends the user's presence at exactly this location, in every region. True when they were there. */
  clear(presence: PresenceScope & { userId: string; location: Json; now: number }): Promise<boolean>;
  /** Users present in the group at locations that pass the filter, after `after`; of each, the locations that pass. */
  find(
    reading: PresenceScope & { filter: LocationFilter; after: string | null; limit: number; now: number },
  ): Promise<PresentUsers>;
  /** The locations of one user in the group, for one membership, in ascending order of text. */
  locationsOf(
    reading: PresenceScope & { userId: string; incarnation: Incarnation; now: number },
  ): Promise<Json[]>;

  /** Ends all presence of these users in the group, who stopped being members: a `removed` event names them all. */
  removeUsers(scope: PresenceScope, userIds: readonly string[], now: number): Promise<void>;
  /** Ends all presence in the group, which is no more: a `gone` event. */
  removeGroup(scope: PresenceScope, now: number): Promise<void>;
  /** Ends all presence in the project, which is no more; each watched group of it has a `gone` event. */
  removeProject(project: ProjectKey, now: number): Promise<void>;

  /**
   * Drops what reached its deadline by `now`, and says what it was; each presence once, whoever sweeps, in order of
   * deadline second. Each is also a `left` event of its group. Told by `set` already means not told here.
   */
  sweep(now: number): Promise<Expiry[]>;

  /** Watches a group from now on. Close every watch before the store. */
  watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch>;
  /** The groups of the project that are watched, on any process; in no order. */
  watchedGroups(project: ProjectKey, now: number): Promise<string[]>;
  /**
   * Tells those who watch the group what happened in the Store, in its order among the group's other events. Told twice,
   * it is an event twice.
   */
  tell(scope: PresenceScope, event: ToldEvent, now: number): Promise<void>;
  /** Like {@link find} without a filter, in one atomic step with the position. At most `limit` users, 10,000 at most. */
  snapshot(
    reading: PresenceScope & { after: string | null; limit: number; now: number },
  ): Promise<PresenceSnapshot>;
}
