import type { PresenceStore } from '../../presence/presence-store.ts';
import type { Json } from '../../values/json.ts';

/** A connection that holds presence in groups. */
export interface Holder<Group> {
  readonly userId: string;
  readonly name: string;
  /** How many locations it holds in the group. */
  countIn(group: Group): number;
  /** An event of the group: the user has left the location, or has come to it. */
  onEvent(group: Group, location: Json, isThere: boolean): void;
  /** Runs the task after the updates of the connection that are under way, and before later ones. */
  inOrder(task: () => Promise<void>): Promise<void>;
}

/** What has the held groups of a process. */
export interface HolderOfGroups<Connection, Group> {
  readonly now: number;
  readonly presence: PresenceStore;
  newLease(): string;
  /**
   * Sets what these connections hold in the group, with another lease. Where the lease before has ended, a hold that is live with a lease
   * is of another process, on which the connection is open by now: it is forgotten instead.
   */
  setAgain(
    connections: readonly Connection[],
    group: Group,
    lease: string,
    hasEnded?: boolean,
  ): Promise<void>;
  /** Gives what these connections still hold in the group the lease, and forgets what they hold no longer. */
  refresh(connections: readonly Connection[], group: Group, lease: string): Promise<void>;
  /** Takes what an open connection holds in the group into the lease: without one it is about to end. */
  takeIn(group: Group, userId: string, connection: string): void;
}
