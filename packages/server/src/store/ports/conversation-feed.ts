import type { ProjectKey } from '../../values/project-key.ts';
import type { Revision } from '../precondition.ts';
import type { MessageRecord, ThreadAbsent } from './messages.ts';
import type { ThreadPosition, ThreadRecord } from './threads.ts';

/** The bounds of {@link ConversationFeedStore.changesSince}: messages, and the bytes of their content. */
export const MESSAGES_MAX = 200;
export const BYTES_MAX = 256 * 1_024;
/** Threads of a page of revisions. */
export const REVISIONS_MAX = 2_000;
/** Removed messages of a thread that are stored, so that streams learn of them. */
export const REMOVED_MAX = 1_000;

/** A message that was removed for good. */
export interface RemovedMessage {
  readonly id: string;
  readonly position: number;
}

export interface ThreadChanges extends ThreadPosition {
  readonly kind: 'changes';
  /** As it is now, without `unread`. */
  readonly thread: ThreadRecord;
  /** The position of the last write of the thread's own fields. */
  readonly threadPosition: number;
  /** Messages written or appended to after the given position, as they are now, in the order of their last change. */
  readonly messages: readonly MessageRecord[];
  readonly removed: readonly RemovedMessage[];
}

export interface ThreadRevision {
  readonly id: string;
  readonly revision: Revision;
}

/** A part of a group's threads. */
export interface RevisionPage {
  readonly threads: readonly ThreadRevision[];
  /** An opaque text of the driver; null when nothing follows. */
  readonly last: string | null;
}

/** The reads that streams of messages and threads are made from. */
export interface ConversationFeedStore {
  /** The positions of these threads (1,000 at most), by ID; those that do not exist are left out. */
  positions(project: ProjectKey, threadIds: readonly string[]): Promise<Map<string, ThreadPosition>>;
  /**
   * The changes of a thread after a position, of one state of the store. At most 200 messages, or fewer when they exceed
   * 256 KiB; then `position` is where they end, and the next call goes on from there. `gone` when removed messages of that
   * time are no longer stored (the last 1,000 of a thread are), or the position is ahead of the thread's.
   */
  changesSince(
    project: ProjectKey,
    threadId: string,
    position: number,
  ): Promise<ThreadChanges | ThreadAbsent | { readonly kind: 'gone'; readonly epoch: string }>;
  /**
   * The messages of a thread that each of these users (1,000 at most) has not seen, as `ThreadRecord.unread` counts them; an
   * empty map where the thread does not exist. Costs about as much as the user with the most of them, and a lookup for each.
   */
  unread(project: ProjectKey, threadId: string, userIds: readonly string[]): Promise<Map<string, number>>;
  /**
   * The threads of a group with their revisions, 2,000 at most, in an order of the driver: where that follows the activity,
   * a thread that changes during a walk over the pages may be missed, or come twice.
   */
  revisions(project: ProjectKey, groupId: string, after: string | null): Promise<RevisionPage>;
}
