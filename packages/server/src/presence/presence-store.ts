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
 * - **Atomic.** Each method is one atomic step; two racing updates leave the result of one of their orders.
 * - **Cost.** A reading costs what its answer holds and the depth of an index, not what else is in the group; a write
 *   does not cost more because many are present.
 * - Whether a user may be present is not asked here: readers filter by `Store.presentable`.
 */
import type { Json, LocationFilter, ProjectKey } from '../store/store.ts';

/** A group of a project: what all presence is within. */
export interface PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
}

export interface PresenceUpdate extends PresenceScope {
  readonly userId: string;
  readonly region: Json;
  readonly location: Json;
  readonly expiresAt: number;
  readonly now: number;
}

/** What an update changed for those who watch. A refresh of the same place changes nothing. */
export interface PresenceChange {
  /** The user was not at the location before. */
  readonly arrived: boolean;
  /**
   * The location that the region had and the user is no longer at, in any region; else null. It is told here also when
   * its deadline had passed and no sweep had said so; then none will.
   */
  readonly departed: Json | null;
}

/** A user and the locations at which they are, in ascending order of text. */
export interface PresentUser {
  readonly userId: string;
  readonly locations: readonly Json[];
}

/** A presence that reached its deadline. */
export interface Expiry extends PresenceScope {
  readonly userId: string;
  readonly location: Json;
}

export interface PresenceStore {
  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Releases everything. Idempotent. */
  close(): Promise<void>;

  /** Sets the user present at the location until `expiresAt`, in place of where the region had them. */
  set(update: PresenceUpdate): Promise<PresenceChange>;
  /** Ends the user's presence at exactly this location, in every region. True when they were there. */
  clear(presence: PresenceScope & { userId: string; location: Json; now: number }): Promise<boolean>;
  /**
   * Users present in the group at places that pass the filter, in ascending order of user ID by code point, after
   * `after`, at most `limit`; of each, the locations that pass.
   */
  find(
    reading: PresenceScope & { filter: LocationFilter; after: string | null; limit: number; now: number },
  ): Promise<PresentUser[]>;
  /** The locations of one user in the group, in ascending order of text. */
  locationsOf(reading: PresenceScope & { userId: string; now: number }): Promise<Json[]>;

  /** Ends all presence of these users in the group. */
  removeUsers(scope: PresenceScope, userIds: readonly string[]): Promise<void>;
  removeGroup(scope: PresenceScope): Promise<void>;
  removeProject(project: ProjectKey): Promise<void>;

  /** Drops what reached its deadline by `now`, and says what it was; each presence once, in order of deadline second. */
  sweep(now: number): Promise<Expiry[]>;
}
