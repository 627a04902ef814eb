import type { MessageType } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Change } from '../changes/changes.ts';
import type { Absent, AlreadyExists, DeleteOutcome, Stale, UnknownUsers, Written } from '../outcomes.ts';
import type { Revision } from '../precondition.ts';
import type { ConditionalContext } from '../write-context.ts';
import type {
  FieldsRequired,
  FixedFields,
  FutureTimes,
  GroupUnavailable,
  StoredThreadWrite,
  ThreadPosition,
} from './threads.ts';

/**
 * The content of a message. Where it is one markdown node, its text comes last in the JSON, so that {@link MARKDOWN_END}
 * ends it and a text can be appended before that.
 */
export interface StoredContent {
  readonly json: Json;
  /** Code points of the text of content that is one markdown node; null for other content. */
  readonly markdownLength: number | null;
  /** The users whom it mentions or assigns, each once: they must exist. */
  readonly userIds: readonly string[];
}

/** The JSON after the text, in content that is one markdown node. */
export const MARKDOWN_END = '"}]}]';

export interface MessageRecord {
  readonly id: string;
  readonly authorId: string;
  readonly type: MessageType;
  /** Also of a deleted message; so is `metadata`. */
  readonly content: Json;
  readonly url: string | null;
  readonly metadata: Json;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  readonly deletedAt: number | null;
  readonly revision: Revision;
  /** Of its last change, among those of the thread: see `conversation-feed.ts`. */
  readonly position: number;
  /** Of its last change other than an append. */
  readonly writtenPosition: number;
  /** Code points of the text of content that is one markdown node; null for other content. */
  readonly markdownLength: number | null;
}

export interface FoundMessage {
  readonly kind: 'found';
  readonly groupId: string;
  readonly message: MessageRecord;
}

/** There is no such thread. */
export type ThreadAbsent = { readonly kind: 'threadAbsent' };

export interface MessageListRequest {
  readonly order: 'ascending' | 'descending';
  /** Where the page starts: `last` of the page before, or null. */
  readonly after: string | null;
  /** 1 to 1,000. */
  readonly limit: number;
  /** The page ends with the message that makes content and metadata larger than this, in bytes. */
  readonly maxBytes: number;
}

export interface MessagePage {
  readonly groupId: string;
  readonly messages: readonly MessageRecord[];
  /** An opaque text of the driver, of at most 100 ASCII characters; null when nothing follows. */
  readonly last: string | null;
  /** How many messages the thread has. */
  readonly total: number;
  /** The state of the thread that the page is of. */
  readonly at: ThreadPosition;
}

/** The written fields of a message: undefined is not supplied, null clears. */
export interface StoredMessageWrite {
  readonly authorId?: string;
  readonly content?: StoredContent;
  /** Default: `user_message`. */
  readonly type?: MessageType;
  readonly url?: string | null;
  readonly metadata?: Json;
  readonly deleted?: boolean;
  /** Makes the creation an import, which works in a deleted group too and whose author need only exist. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
  readonly deletedAt?: number;
  /** The thread to make where it is missing, in the same step; by the rules of `ThreadStore.put`. Ignored where it is there. */
  readonly createThread?: StoredThreadWrite;
  /** The only group whose thread is written to: one of another group counts as absent, and is not made again. */
  readonly inGroup?: string;
  /** The message must be there, by this author: else it is absent, and is not created. */
  readonly ofAuthor?: string;
}

/** The author of a new message does not exist, or is deleted or no member of the group (and the write is no import). */
export type AuthorUnavailable = {
  readonly kind: 'authorUnavailable';
  readonly reason: 'absent' | 'deleted' | 'notMember';
  readonly groupId: string;
};

export type PutMessageOutcome =
  | Written
  | FieldsRequired
  | FutureTimes
  | FixedFields
  | ThreadAbsent
  | Absent
  | GroupUnavailable
  | AuthorUnavailable
  | UnknownUsers
  | AlreadyExists
  | Stale;

export interface MessageAppend {
  /** The text as it stands between the quotes of a JSON string. */
  readonly escaped: Json;
  /** Its code points. */
  readonly length: number;
  /** The code points that the text must have before; null where it does not matter. */
  readonly offset: number | null;
}

export type AppendOutcome =
  | {
      readonly kind: 'appended';
      /** Code points of the whole text now. */
      readonly length: number;
      readonly revision: Revision;
      readonly changes: readonly Change[];
    }
  | ThreadAbsent
  | Absent
  | GroupUnavailable
  /** The content is not one markdown node, or the message is deleted. */
  | { readonly kind: 'notAppendable' }
  /** The content would exceed `CONTENT_MAX_BYTES`. */
  | { readonly kind: 'tooLarge' }
  | Stale;

/**
 * Messages of threads. An ID is unique within its thread. The order of a thread's messages is by creation time, then by
 * arrival.
 */
export interface MessageStore {
  find(project: ProjectKey, threadId: string, id: string): Promise<FoundMessage | ThreadAbsent | Absent>;
  /** A page of the thread's messages; null where there is no such thread. Costs the same however deep it is. */
  list(project: ProjectKey, threadId: string, request: MessageListRequest): Promise<MessagePage | null>;
  /**
   * Creates or updates: only what is supplied changes. Errors come in this order: a thread of another group than `inGroup`,
   * thread or message absent where `ofAuthor` is given, fields required (`authorID`, `content`) and
   * future times (a missing message is `stale` instead, after the thread, where `ifMatch` is given), fixed fields (`authorID`, and the
   * three times once the message is there), thread, group, author, mentioned users, the precondition. Where `ifNoneMatch` is
   * `*`, no field of a message that is there is fixed, and the author that the write names is checked. Where it is rejected,
   * no thread is made. Deleted groups take imports, and updates that repeat `createdAt`.
   *
   * A new message that is no import gets `now` as its time, or a millisecond after the latest time up to which a user has seen the
   * thread where this is later: so it comes after all messages, and is unread for everyone but its author. It
   * makes its author a participant who has seen the thread up to the message, and moves the thread's counts, activity and
   * revision in the same step. `deleted: true` sets `deletedAt` (on creation to the supplied one) or `now`, false clears it;
   * a new message with `deletedAt` and without `deleted` is deleted. An update sets `updatedAt` to `now` where content, type,
   * URL or metadata changes; where the thread's counts change, so does its revision.
   */
  put(
    project: ProjectKey,
    threadId: string,
    id: string,
    write: StoredMessageWrite,
    context: ConditionalContext,
  ): Promise<PutMessageOutcome>;
  /**
   * Adds a text before {@link MARKDOWN_END}, atomically: concurrent appends all arrive, each whole, in the order of their
   * commits. Costs the same however long the content is. Errors come in this order: thread, message, group, not
   * appendable, offset and precondition (both `stale`), too large. Changes the revision, but neither `updatedAt` nor the
   * thread. An empty text changes nothing.
   */
  append(
    project: ProjectKey,
    threadId: string,
    id: string,
    append: MessageAppend,
    context: ConditionalContext,
  ): Promise<AppendOutcome>;
  /** Removes the message for good, and takes it from the thread's counts and activity. Absent goes before the precondition. */
  delete(
    project: ProjectKey,
    threadId: string,
    id: string,
    context: ConditionalContext,
  ): Promise<DeleteOutcome | ThreadAbsent>;
}
