/**
 * The Broker: telling every process what changed. This file is the contract; the suite in
 * test/contract/broker-contract.ts holds every driver to it.
 *
 * - Every subscriber on every process, the publisher's own included, gets every change published after it subscribed,
 *   and the changes of one publisher in the order of publishing.
 * - On the publishing process, subscribers have been called when `publish` resolves; elsewhere within a second.
 * - A change is a hint to look again, never the only copy of anything: whoever misses one (a broken connection) must be
 *   right again within a second by other means.
 */

import type { ProjectKey } from '../store/store.ts';

/** A project's credentials changed: renamed, secret rotated, deleted. */
export interface ProjectChanged {
  readonly type: 'project';
  readonly projectId: string;
}

/** An access token was revoked. */
export interface SessionRevoked {
  readonly type: 'session';
  readonly sessionId: string;
}

/** Users may no longer be present where they were allowed to be; null are all of the project. */
export interface StandingChanged {
  readonly type: 'standing';
  readonly project: ProjectKey;
  readonly userIds: readonly string[] | null;
}

export type Change = ProjectChanged | SessionRevoked | StandingChanged;

export interface Broker {
  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Ends all subscriptions. Idempotent. */
  close(): Promise<void>;
  publish(change: Change): Promise<void>;
  /** Calls `listener` for every change until the returned function is called. A listener that throws harms no other. */
  subscribe(listener: (change: Change) => void): () => void;
}
