import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { PageRequest } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Change } from '../changes/changes.ts';
import type { WriteContext } from '../write-context.ts';
import type { Eligibility } from './eligibility.ts';

export interface DurablePresenceUpdate {
  readonly userId: string;
  readonly groupId: string;
  /** Canonical location text; one durable location is stored per user, group and region. */
  readonly region: Json;
  /** Canonical location text. */
  readonly location: Json;
}

/** Applied, or the eligibility that forbids it (checked in the same atomic step). */
export type DurablePresenceOutcome =
  | {
      readonly kind: 'set';
      /** The earlier location in the region. */
      readonly previous: Json | null;
      /** The time that the location has. */
      readonly at: number;
      /** The time of the user's latest location in the group before this update; null where there was none. */
      readonly latestBefore: number | null;
      /** The latest time of the locations that ended because of a bound; null where none did. */
      readonly endedTo: number | null;
      readonly changes: readonly Change[];
    }
  | { readonly kind: 'rejected'; readonly eligibility: Eligibility };

/** What became of each update of a list, in its order, and all changes that were made, in the same order. */
export interface DurablePresenceOutcomes {
  readonly outcomes: readonly DurablePresenceOutcome[];
  readonly changes: readonly Change[];
}

export interface DurablePresence {
  readonly userId: string;
  readonly location: Json;
  /** When it was last updated. */
  readonly at: number;
}

/** Presence that lasts until it is replaced, or its user, group or membership goes. */
export interface DurablePresenceStore {
  /**
   * Sets the location of a region. Its time is `now`, or a millisecond after the user's latest one in the group where
   * that is later, so the latest location is the one of the last commit. (More than 1,000 updates a second of one user in
   * one group therefore run ahead of the clock.) Where the user then has more than the store's bounds
   * (durable-bounds.ts), the oldest locations end until the bounds hold, but never the one that was set.
   */
  put(
    project: ProjectKey,
    update: DurablePresenceUpdate,
    context: WriteContext,
  ): Promise<DurablePresenceOutcome>;
  /**
   * Applies each update as {@link put} does, in the order of the list, in one atomic step. One that is rejected does not
   * prevent the others. Readers see all that were applied or none, and their changes are adjacent in the record. The list
   * has at most 1,000 updates: the caller bounds it.
   */
  putMany(
    project: ProjectKey,
    updates: readonly DurablePresenceUpdate[],
    context: WriteContext,
  ): Promise<DurablePresenceOutcomes>;
  /**
   * For each user with durable presence that passes the filter, the latest of it; in ascending order of user ID,
   * after `after`, `limit` users or all that there are. Users set deleted are left out.
   */
  list(
    project: ProjectKey,
    groupId: string,
    filter: LocationFilter,
    page: PageRequest,
  ): Promise<DurablePresence[]>;
  /** The user's latest durable presence in the group, or null; also of a user who is set deleted. */
  find(project: ProjectKey, groupId: string, userId: string): Promise<DurablePresence | null>;
}
