import type { Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import {
  changedThread,
  fixedOfThread,
  groupError,
  isThreadAbsent,
  type MessageCounts,
  newThread,
  requiredOfThread,
  type ThreadFields,
  threadChanges,
} from '../conversation-writes.ts';
import { type DeleteOutcome, UNCHANGED } from '../outcomes.ts';
import type { PutThreadOutcome, SeenMark, SeenOutcome, StoredThreadWrite } from '../ports/threads.ts';
import { preconditionFailure } from '../precondition.ts';
import type { ConditionalContext, WriteContext } from '../write-context.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import { ThreadLists } from './sqlite-conversation-lists.ts';
import { SEQ_BITS } from './sqlite-message-numbers.ts';
import { THREAD_BY_ID, THREAD_COLUMNS, toThread } from './sqlite-threads.ts';

/** Removed messages of a thread that are stored, so that streams learn of them. */
const REMOVED_MAX = 1_000;

/** A thread as writes need it. */
export interface StoredThread extends ThreadFields, MessageCounts {
  readonly threadNo: number;
  readonly conversationNo: number;
  readonly id: string;
  readonly groupId: string;
  readonly groupStatus: Status;
  readonly createdAt: number;
  readonly lastMessageAt: number | null;
  readonly revision: string;
}

/** The fields of a thread that its messages change. */
export type ThreadActivity = MessageCounts & Pick<StoredThread, 'lastMessageAt'>;

function toStored(row: Row): StoredThread {
  return {
    ...toThread(row),
    conversationNo: row[14] as number,
    groupStatus: row[15] as Status,
  };
}

/** Writes of threads, on the writer's thread. */
export class ThreadWrites {
  readonly #lists: ThreadLists;
  readonly #find;
  readonly #group;
  readonly #conversation;
  readonly #addConversation;
  readonly #waiting;
  readonly #insert;
  readonly #update;
  readonly #updateActivity;
  readonly #advance;
  readonly #nextMessage;
  readonly #addRemoved;
  readonly #oldRemoved;
  readonly #forgetRemoved;
  readonly #setRemovedTo;
  readonly #setRevision;
  readonly #delete;
  readonly #messageTime;
  readonly #lastSeen;
  readonly #setSeen;

  constructor(connection: SqliteConnection) {
    const prepare = (sql: string) => connection.prepare(sql);
    this.#lists = new ThreadLists(connection);
    this.#find = prepare(`SELECT ${THREAD_COLUMNS}, t.conversation_no, g.status ${THREAD_BY_ID}`);
    this.#group = prepare('SELECT group_no, status FROM groups WHERE project_no = ? AND id = ?');
    this.#conversation = prepare('SELECT conversation_no FROM conversations WHERE group_no = ?');
    this.#addConversation = prepare('INSERT INTO conversations (group_no) VALUES (?)');
    this.#waiting = prepare(`
      SELECT thread_no, conversation_no, location, resolved_at, created_at, last_message_at FROM threads
      WHERE project_no = ? AND id = ?`);
    this.#insert = prepare(`
      INSERT INTO threads (project_no, conversation_no, id, revision, epoch, created_at, resolved_at, last_seq, position,
        fields_position, removed_to, user_messages, action_messages, deleted_messages, name, url, location, metadata)
      VALUES (?, ?, ?, ?, lower(hex(randomblob(8))), ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, ?, ?, ?)`);
    this.#update = prepare(`
      UPDATE threads SET resolved_at = ?, name = ?, url = ?, location = ?, metadata = ?, revision = ?,
        position = position + 1, fields_position = position + 1
      WHERE thread_no = ?`);
    this.#advance = prepare(
      'UPDATE threads SET position = position + 1 WHERE thread_no = ? RETURNING position',
    );
    this.#updateActivity = prepare(`
      UPDATE threads SET user_messages = ?, action_messages = ?, deleted_messages = ?, last_message_at = ?,
        revision = ? WHERE thread_no = ?`);
    this.#nextMessage = prepare(`
      UPDATE threads SET position = position + 1, last_seq = last_seq + 1 WHERE thread_no = ?
      RETURNING last_seq, position`);
    this.#addRemoved = prepare('INSERT INTO removed_messages (thread_no, position, id) VALUES (?, ?, ?)');
    this.#oldRemoved = prepare(`
      SELECT position FROM removed_messages WHERE thread_no = ? ORDER BY position DESC LIMIT 1 OFFSET ${REMOVED_MAX}`);
    this.#forgetRemoved = prepare('DELETE FROM removed_messages WHERE thread_no = ? AND position <= ?');
    this.#setRemovedTo = prepare('UPDATE threads SET removed_to = ? WHERE thread_no = ?');
    this.#setRevision = prepare('UPDATE threads SET revision = ? WHERE thread_no = ?');
    this.#delete = prepare(
      'UPDATE threads SET project_no = NULL, conversation_no = NULL WHERE thread_no = ?',
    );
    this.#messageTime = prepare('SELECT created_at FROM messages WHERE thread_no = ? AND id = ?');
    this.#lastSeen = prepare('SELECT last_seen_at FROM participants WHERE thread_no = ? AND user_id = ?');
    this.#setSeen = prepare(`
      INSERT INTO participants (thread_no, user_id, last_seen_at) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET last_seen_at = excluded.last_seen_at`);
  }

  /** Null also where the group is gone. */
  find(project: ProjectKey, id: string): StoredThread | null {
    const row = this.#find.get(project, id);
    return row === undefined ? null : toStored(row);
  }

  put(
    project: ProjectKey,
    id: string,
    write: StoredThreadWrite,
    context: ConditionalContext,
  ): PutThreadOutcome {
    const thread = this.find(project, id);
    if (isThreadAbsent(thread, write)) return { kind: 'absent' };
    return thread === null
      ? this.#create(project, id, write, context)
      : this.#change(project, thread, write, context);
  }

  delete(project: ProjectKey, id: string, context: ConditionalContext): DeleteOutcome {
    const thread = this.find(project, id);
    if (thread === null) return { kind: 'absent' };
    if (preconditionFailure(context, thread.revision) !== null) return { kind: 'stale' };
    this.#lists.replace(project, thread, null);
    this.#delete.run(thread.threadNo);
    return { kind: 'deleted', changes: [{ type: 'thread.removed', group: thread.groupId, thread: id }] };
  }

  markSeen(project: ProjectKey, id: string, mark: SeenMark, { now, revision }: WriteContext): SeenOutcome {
    const thread = this.find(project, id);
    if (thread === null || isThreadAbsent(thread, mark)) return { kind: 'absent' };
    const { userId, messageId } = mark;
    const message = messageId === null ? null : this.#messageTime.get(thread.threadNo, messageId);
    if (message === undefined) return { kind: 'messageAbsent' };
    const at = message === null ? Math.max(now, thread.lastMessageAt ?? now) : (message[0] as number);
    if (!this.see(thread, userId, at)) return UNCHANGED;
    this.#setRevision.run(revision, thread.threadNo);
    return { kind: 'updated', changes: [] };
  }

  /** Sets up to when a user has seen the thread. False where that is not later than before. */
  see({ threadNo }: StoredThread, userId: string, at: number): boolean {
    const before = this.#lastSeen.get(threadNo, userId)?.[0] as number | undefined;
    if (before !== undefined && before >= at) return false;
    this.#setSeen.run(threadNo, userId, at);
    return true;
  }

  /** The number and the position of a new message. */
  nextMessage({ threadNo }: StoredThread): { readonly seq: number; readonly position: number } {
    const [seq, position] = this.#nextMessage.get(threadNo) as [number, number];
    if (seq >= 2 ** SEQ_BITS) throw new Error(`thread ${threadNo} can have no more messages`);
    return { seq, position };
  }

  /** The position of one more write among those of the thread. */
  advance({ threadNo }: StoredThread): number {
    return this.#advance.get(threadNo)?.[0] as number;
  }

  /** Stores that a message was removed for good, and forgets the oldest of very many. */
  addRemoved(thread: StoredThread, messageId: string): void {
    const { threadNo } = thread;
    this.#addRemoved.run(threadNo, this.advance(thread), messageId);
    const forgotten = this.#oldRemoved.get(threadNo)?.[0];
    if (forgotten === undefined) return;
    this.#forgetRemoved.run(threadNo, forgotten);
    this.#setRemovedTo.run(forgotten, threadNo);
  }

  /** Counts what changed among the messages of a thread, and moves it in its lists. */
  setActivity(project: ProjectKey, thread: StoredThread, activity: ThreadActivity, revision: string): void {
    const { userMessages, actionMessages, deletedMessages, lastMessageAt } = activity;
    const counts = [userMessages, actionMessages, deletedMessages] as const;
    this.#updateActivity.run(...counts, lastMessageAt, revision, thread.threadNo);
    if (lastMessageAt !== thread.lastMessageAt) {
      this.#lists.replace(project, thread, { ...thread, lastMessageAt });
    }
  }

  #create(
    project: ProjectKey,
    id: string,
    write: StoredThreadWrite,
    context: ConditionalContext,
  ): PutThreadOutcome {
    const missing = requiredOfThread(write);
    if (missing !== null && context.ifMatch === undefined) return missing;
    const { groupId, createdAt = context.now } = write;
    // A group is missing only where `ifMatch` is given, and that fails.
    if (groupId === undefined) return { kind: 'stale' };
    const [groupNo, status] = (this.#group.get(project, groupId) ?? [0, null]) as [number, Status | null];
    const failure = groupError(groupId, status, write) ?? preconditionFailure(context, null);
    if (failure !== null) return failure;
    this.#freeId(project, id);
    const fields = newThread(write, context.now);
    const conversationNo = this.#conversationOf(groupNo);
    const { resolvedAt, name, url, location, metadata } = fields;
    const key = [project, conversationNo, id, context.revision, createdAt] as const;
    const threadNo = this.#insert.insert(...key, resolvedAt, name, url, location, metadata);
    const listed = { threadNo, conversationNo, location, resolvedAt, createdAt, lastMessageAt: null };
    this.#lists.replace(project, null, listed);
    return { kind: 'created', changes: [{ type: 'thread.created', group: groupId, thread: id }] };
  }

  #conversationOf(groupNo: number): number {
    const row = this.#conversation.get(groupNo);
    return row === undefined ? this.#addConversation.insert(groupNo) : (row[0] as number);
  }

  /** Takes the ID from a thread whose group was deleted and that is still to be purged. */
  #freeId(project: ProjectKey, id: string): void {
    const row = this.#waiting.get(project, id);
    if (row === undefined) return;
    const [threadNo, conversationNo, location, resolvedAt, createdAt, lastMessageAt] = row as [
      number,
      number,
      string | null,
      number | null,
      number,
      number | null,
    ];
    const listed = { threadNo, conversationNo, location, resolvedAt, createdAt, lastMessageAt };
    this.#lists.replace(project, listed, null);
    this.#delete.run(threadNo);
  }

  #change(
    project: ProjectKey,
    thread: StoredThread,
    write: StoredThreadWrite,
    context: ConditionalContext,
  ): PutThreadOutcome {
    const failure =
      fixedOfThread(thread, write, context) ??
      groupError(thread.groupId, thread.groupStatus, write) ??
      preconditionFailure(context, thread.revision);
    if (failure !== null) return failure;
    const after = changedThread(thread, write, context.now);
    const changes = threadChanges({ group: thread.groupId, thread: thread.id }, thread, after);
    if (changes.length === 0) return UNCHANGED;
    const { resolvedAt, name, url, location, metadata } = after;
    this.#update.run(resolvedAt, name, url, location, metadata, context.revision, thread.threadNo);
    this.#lists.replace(project, thread, { ...thread, ...after });
    return { kind: 'updated', changes };
  }
}
