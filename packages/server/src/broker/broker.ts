/**
 * The Broker: notifies every process of changes. This file is the contract; the suite in
 * test/contract/broker-contract.ts tests every driver against it.
 *
 * - A change of a project's credentials, of a token or of names is for every process. A change that has a {@link Subject} is for the
 *   publishing process and for those that follow its subject, so a process pays for what it uses and not for what others write.
 * - Every subscriber of such a process gets every change published after it subscribed. Changes of one publisher that are for every
 *   process, or have the same subject, come in the order of publishing; others may overtake each other.
 * - On the publishing process, subscribers have been called when `publish` resolves; elsewhere within a second.
 * - A change is a hint to read again, never the only copy of anything. A subscriber that misses one (a broken connection)
 *   must be right again by other means: requests within a second, streams and sockets as docs/reliability.md says.
 * - Bounded by its callers: an engine remembers what this process follows, and nothing of changes.
 */

import type { Metric } from '../metrics/metric.ts';
import type { ProjectKey } from '../values/project-key.ts';

/** A project's credentials changed: renamed, secret rotated, deleted. */
interface ProjectChanged {
  readonly type: 'project';
  readonly projectId: string;
}

/** An access token was revoked. */
interface SessionRevoked {
  readonly type: 'session';
  readonly sessionId: string;
}

/** Users may have lost the right to be present in a group, and to read it; null for all users of the project. */
interface EligibilityChanged {
  readonly type: 'eligibility';
  readonly project: ProjectKey;
  readonly userIds: readonly string[] | null;
}

/** A thread was created, changed or removed, or its messages were. */
interface ConversationChanged {
  readonly type: 'conversation';
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly threadId: string;
  /** Where only the text of a message changed, or only what lists of threads show. */
  readonly only?: 'messages' | 'threads';
}

/** Names or pictures of users changed. */
export interface ProfilesChanged {
  readonly type: 'profiles';
  readonly project: ProjectKey;
  readonly userIds: readonly string[];
}

/** Changes of a project were recorded, up to this position. */
interface ChangesRecorded {
  readonly type: 'changes';
  readonly project: ProjectKey;
  readonly position: number;
}

/** What is published: a hint that something changed, which subscribers read again from the store. */
export type Notification =
  | ProjectChanged
  | SessionRevoked
  | EligibilityChanged
  | ConversationChanged
  | ProfilesChanged
  | ChangesRecorded;

/** By which fields the changes of each type are followed; none where they are for every process. */
export const SUBJECT_FIELDS = {
  project: [],
  session: [],
  profiles: [],
  eligibility: ['project'],
  changes: ['project'],
  conversation: ['project', 'groupId'],
} as const satisfies { readonly [Each in Notification as Each['type']]: readonly (keyof Each)[] };

/** What changes of some types are about: the type and its {@link SUBJECT_FIELDS}. */
export type Subject =
  | Pick<EligibilityChanged, 'type' | 'project'>
  | Pick<ChangesRecorded, 'type' | 'project'>
  | Pick<ConversationChanged, 'type' | 'project' | 'groupId'>;

export interface Broker {
  /** The durations and errors of the driver: docs/metrics.md names them. Reading them calls no server. */
  readonly metrics: readonly Metric[];
  /** Whether the engine answers. @throws StoreUnavailableError */
  ping(): Promise<void>;
  /** Ends all subscriptions. Idempotent. */
  close(): Promise<void>;
  publish(notification: Notification): Promise<void>;
  /**
   * Subscribes to the changes of a subject that other processes publish, until the returned function is called. They come from a moment
   * later on, and again a moment after a broken connection; those before are missed. Followed twice, a change comes once.
   */
  follow(subject: Subject): () => void;
  /** Calls `listener` for every change until the returned function is called. A listener that throws harms no other. */
  subscribe(listener: (notification: Notification) => void): () => void;
}
