import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Absent, AlreadyExists, DeleteOutcome, Stale, Updated, Written } from '../outcomes.ts';
import type { Revision } from '../precondition.ts';
import type { ConditionalContext } from '../write-context.ts';

/** How far the changes of a thread have come. */
export interface ThreadPosition {
  /** Names this thread among all that ever have its ID: 1 to 64 letters and digits. */
  readonly epoch: string;
  /** Counts the writes of the thread and its messages, from 0; `markSeen` is none. Grows with every commit. */
  readonly position: number;
}

export interface Participant {
  readonly userId: string;
  readonly lastSeenAt: number;
}

export interface ThreadRecord {
  readonly id: string;
  readonly groupId: string;
  readonly name: string;
  readonly url: string | null;
  /** Canonical location text. */
  readonly location: Json | null;
  readonly metadata: Json;
  /** Null while the thread is not resolved. */
  readonly resolvedAt: number | null;
  readonly createdAt: number;
  /** Messages that are not deleted, by type. */
  readonly userMessages: number;
  readonly actionMessages: number;
  readonly deletedMessages: number;
  /** The greatest creation time of its messages, deleted ones included; null where it has none. */
  readonly lastMessageAt: number | null;
  /** Changes with everything that is shown of the thread, its counts and participants included. */
  readonly revision: Revision;
  /** Those who have seen it most recently, at most `PARTICIPANTS_SHOWN`: the most recent first, then by descending ID. */
  readonly participants: readonly Participant[];
  /**
   * For the viewer of the reading: messages that are not deleted and were created after the viewer's last seen time, at
   * most `UNREAD_MAX`. A viewer who is no participant has seen nothing. Null where the reading names no viewer. A message of the
   * viewer is never after that time.
   */
  readonly unread: number | null;
}

/** Which threads a list has; null where it does not matter. */
export interface ThreadFilter {
  readonly groupId: string | null;
  readonly location: LocationFilter;
  readonly resolved: boolean | null;
}

export interface ThreadListRequest {
  readonly filter: ThreadFilter;
  /** Where the page starts: `last` of the page before, or null. */
  readonly after: string | null;
  /** 1 to 1,000. */
  readonly limit: number;
  /** The page ends with the thread that makes its texts and participants larger than this, in bytes, roughly. */
  readonly maxBytes: number;
  /** The user whose `unread` is counted; null: no `unread` is counted. */
  readonly viewer: string | null;
}

export interface ThreadPage {
  readonly threads: readonly ThreadRecord[];
  /** An opaque text of the driver, of at most 100 ASCII characters; null when nothing follows. */
  readonly last: string | null;
}

/** Up to where a user has seen a thread: a message of it, or null for now. */
export interface SeenMark extends Pick<StoredThreadWrite, 'inGroup'> {
  readonly userId: string;
  readonly messageId: string | null;
}

/** The written fields of a thread: undefined is not supplied, null clears. */
export interface StoredThreadWrite {
  readonly groupId?: string;
  readonly name?: string;
  readonly url?: string | null;
  /** Canonical location text. */
  readonly location?: Json | null;
  readonly metadata?: Json;
  readonly resolved?: boolean;
  /** Makes the creation an import, which works in a deleted group too. */
  readonly createdAt?: number;
  readonly resolvedAt?: number;
  /** The thread must be there, in this group: else it is absent, and is not created. */
  readonly inGroup?: string;
}

/** The thread would be created and the write lacks `groupID` or `name`. */
export type FieldsRequired = { readonly kind: 'fieldsRequired'; readonly fields: readonly string[] };
/** Fields that never change (`groupID`, `createdTimestamp`, …) are given with other values than the stored ones. */
export type FixedFields = { readonly kind: 'fixedFields'; readonly fields: readonly string[] };
/** Times of what would be created are after `now`. Stored ones can be: a clock was set back, or that of another process is ahead. */
export type FutureTimes = { readonly kind: 'futureTimes'; readonly fields: readonly string[] };
/** The group is missing, or it is deleted and the write is no import. */
export type GroupUnavailable = {
  readonly kind: 'groupUnavailable';
  readonly groupId: string;
  readonly isDeleted: boolean;
};

export type PutThreadOutcome =
  | Written
  | FieldsRequired
  | FutureTimes
  | FixedFields
  | GroupUnavailable
  | Absent
  | AlreadyExists
  | Stale;

/** `messageAbsent`: the message up to which the thread is seen is not there. */
export type SeenOutcome = Updated | Absent | { readonly kind: 'messageAbsent' } | Stale;

/**
 * Threads. A thread belongs to one group and is gone, for every reading and writing, in the commit that deletes its
 * group; the engine removes its rows afterwards in small steps, also after a restart.
 */
export interface ThreadStore {
  find(project: ProjectKey, id: string, viewer: string | null): Promise<ThreadRecord | null>;
  /**
   * The threads that pass the filter, by activity (`lastMessageAt`, or `createdAt` where it is null), the latest first. A
   * page costs the same however deep it is, and however few of many threads pass: a page ends early when it has searched
   * 5,000 threads, or counted very many participants and unread messages; it can be empty then, and `last` is where the
   * next one starts. A thread whose activity changes between two pages may be missed; all others come exactly once.
   */
  list(project: ProjectKey, request: ThreadListRequest): Promise<ThreadPage>;
  /**
   * Creates or updates: only what is supplied changes. Errors come in this order: absent, fields required and future times (a missing
   * thread is `stale` instead where `ifMatch` is given), fixed fields (`groupID`, and the two times once the thread is there), the
   * group, the precondition. Where `ifNoneMatch` is `*`, no field of a thread that is there is fixed, and the group is the one
   * that the write names. `resolved: true` sets the time of resolution to `resolvedAt` (on creation) or `now`, false
   * clears it; a new thread with `resolvedAt` and without `resolved` is resolved. Deleted groups take imports, and updates
   * that repeat `createdAt`. The change names `resolved` where the time of resolution changes.
   */
  put(
    project: ProjectKey,
    id: string,
    write: StoredThreadWrite,
    context: ConditionalContext,
  ): Promise<PutThreadOutcome>;
  /**
   * Removes the thread with its messages; what is large is removed in the background. Absent goes before the precondition.
   * The one change is `thread.removed`.
   */
  delete(project: ProjectKey, id: string, context: ConditionalContext): Promise<DeleteOutcome>;
  /**
   * Marks the thread as seen by the user up to the creation time of a message (null: up to `now`, and up to the latest
   * message in any case). The time never goes back. The user becomes a participant. Changes the thread's revision, and is
   * not recorded as a change. What is absent goes before the precondition.
   */
  markSeen(
    project: ProjectKey,
    id: string,
    mark: SeenMark,
    context: ConditionalContext,
  ): Promise<SeenOutcome>;
}
