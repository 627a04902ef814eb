import type { Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { columnsOf } from '../../columns.ts';
import {
  changedThread,
  changeTime,
  isThreadAbsent,
  type MessageCounts,
  newThread,
  threadChanges,
  threadError,
} from '../../conversation/conversation-writes.ts';
import { seenBy } from '../../conversation/shown-participants.ts';
import { UNCHANGED } from '../../outcomes.ts';
import { REMOVED_MAX } from '../../ports/conversation-feed.ts';
import type { PutThreadOutcome, StoredThreadWrite, ThreadStore } from '../../ports/threads.ts';
import { preconditionFailure } from '../../precondition.ts';
import type { ConditionalContext } from '../../write-context.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Write } from '../sqlite-methods.ts';
import { LISTED, ThreadLists } from './sqlite-conversation-lists.ts';
import { SEQ_BITS } from './sqlite-message-numbers.ts';
import { FOUND_COLUMNS, type FoundThread, THREAD_BY_ID } from './sqlite-threads.ts';

export interface StoredThread extends FoundThread {
  readonly conversationNo: number;
  readonly groupStatus: Status;
}

/** The fields of a thread that its messages change. */
export type ThreadActivity = MessageCounts & Pick<StoredThread, 'lastMessageAt' | 'shown'>;

const STORED = columnsOf<StoredThread>({
  ...FOUND_COLUMNS,
  conversationNo: 't.conversation_no',
  groupStatus: 'g.status',
});

/** Writes of threads, on the writer's thread. */
export class ThreadWrites {
  readonly #statements;
  readonly #lists: ThreadLists;

  constructor(connection: SqliteConnection) {
    const { prepare } = connection;
    this.#lists = new ThreadLists(connection);
    this.#statements = {
      find: prepare(`SELECT ${STORED.sql} ${THREAD_BY_ID}`),
      group: prepare<[groupNo: number, status: Status]>(
        'SELECT group_no, status FROM groups WHERE project_no = ? AND id = ?',
      ),
      conversation: prepare<[number]>('SELECT conversation_no FROM conversations WHERE group_no = ?'),
      addConversation: prepare('INSERT INTO conversations (group_no) VALUES (?)'),
      waiting: prepare(`SELECT ${LISTED.sql} FROM threads WHERE project_no = ? AND id = ?`),
      insert: prepare(`
        INSERT INTO threads (project_no, conversation_no, id, revision, epoch, created_at, resolved_at, last_seq, position,
          fields_position, removed_to, user_messages, action_messages, deleted_messages, name, url, location, metadata)
        VALUES (?, ?, ?, ?, lower(hex(randomblob(8))), ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, ?, ?, ?)`),
      update: prepare(`
        UPDATE threads SET resolved_at = ?, name = ?, url = ?, location = ?, metadata = ?, revision = ?,
          position = position + 1, fields_position = position + 1
        WHERE thread_no = ?`),
      advance: prepare('UPDATE threads SET position = position + 1 WHERE thread_no = ? RETURNING position'),
      updateActivity: prepare(`
        UPDATE threads SET user_messages = ?, action_messages = ?, deleted_messages = ?, last_message_at = ?,
          participants = ?, revision = ? WHERE thread_no = ?`),
      nextMessage: prepare<[seq: number, position: number]>(`
        UPDATE threads SET position = position + 1, last_seq = last_seq + 1 WHERE thread_no = ?
        RETURNING last_seq, position`),
      addRemoved: prepare('INSERT INTO removed_messages (thread_no, position, id) VALUES (?, ?, ?)'),
      oldRemoved: prepare(`
        SELECT position FROM removed_messages WHERE thread_no = ? ORDER BY position DESC LIMIT 1 OFFSET ${REMOVED_MAX}`),
      forgetRemoved: prepare('DELETE FROM removed_messages WHERE thread_no = ? AND position <= ?'),
      setRemovedTo: prepare('UPDATE threads SET removed_to = ? WHERE thread_no = ?'),
      setShown: prepare('UPDATE threads SET participants = ?, revision = ? WHERE thread_no = ?'),
      delete: prepare('UPDATE threads SET project_no = NULL, conversation_no = NULL WHERE thread_no = ?'),
      messageTime: prepare<[number]>('SELECT created_at FROM messages WHERE thread_no = ? AND id = ?'),
      lastSeen: prepare<[number]>(
        'SELECT last_seen_at FROM participants WHERE thread_no = ? AND user_id = ?',
      ),
      setSeen: prepare(`
        INSERT INTO participants (thread_no, user_id, last_seen_at) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET last_seen_at = excluded.last_seen_at`),
    };
  }

  /** Null also where the group is gone. */
  find(project: ProjectKey, id: string): StoredThread | null {
    return STORED.toFound(this.#statements.find.get(project, id));
  }

  readonly put: Write<ThreadStore['put']> = (project, id, write, context) => {
    const thread = this.find(project, id);
    const error = threadError(
      thread,
      (groupId) => this.groupStatus(project, groupId, thread),
      write,
      context,
    );
    if (error !== null) return error;
    return thread === null
      ? this.#create(project, id, write, context)
      : this.#change(project, thread, write, context);
  };

  readonly delete: Write<ThreadStore['delete']> = (project, id, context) => {
    const thread = this.find(project, id);
    if (thread === null) return { kind: 'absent' };
    if (preconditionFailure(context, thread.revision) !== null) return { kind: 'stale' };
    this.#lists.replace(project, thread, null);
    this.#statements.delete.run(thread.threadNo);
    return { kind: 'deleted', changes: [{ type: 'thread.removed', group: thread.groupId, thread: id }] };
  };

  readonly markSeen: Write<ThreadStore['markSeen']> = (project, id, mark, context) => {
    const { now, revision } = context;
    const thread = this.find(project, id);
    if (thread === null || isThreadAbsent(thread, mark)) return { kind: 'absent' };
    const { userId, messageId } = mark;
    const message = messageId === null ? null : this.#statements.messageTime.get(thread.threadNo, messageId);
    if (message === undefined) return { kind: 'messageAbsent' };
    if (preconditionFailure(context, thread.revision) !== null) return { kind: 'stale' };
    const at = message === null ? Math.max(now, thread.lastMessageAt ?? now) : message[0];
    const shown = this.see(thread, userId, at);
    if (shown === null) return UNCHANGED;
    this.#statements.setShown.run(shown, revision, thread.threadNo);
    return { kind: 'updated', changes: [] };
  };

  /**
   * Sets up to when a user has seen the thread. Null where that is not later than before; otherwise the participants that the thread
   * is to show, which the caller stores.
   */
  see({ threadNo, shown }: StoredThread, userId: string, at: number): string | null {
    const before = this.#statements.lastSeen.get(threadNo, userId)?.[0];
    if (before !== undefined && before >= at) return null;
    this.#statements.setSeen.run(threadNo, userId, at);
    return seenBy(shown, userId, at);
  }

  /** The number and the position of a new message. */
  nextMessage({ threadNo }: StoredThread): { readonly seq: number; readonly position: number } {
    const [seq, position] = this.#statements.nextMessage.get(threadNo) as [number, number];
    if (seq >= 2 ** SEQ_BITS) throw new Error(`thread ${threadNo} can have no more messages`);
    return { seq, position };
  }

  /** The position of one more write among those of the thread. */
  advance({ threadNo }: StoredThread): number {
    return this.#statements.advance.get(threadNo)?.[0] as number;
  }

  /** Stores that a message was removed for good, and forgets the oldest of very many. */
  addRemoved(thread: StoredThread, messageId: string): void {
    const { threadNo } = thread;
    this.#statements.addRemoved.run(threadNo, this.advance(thread), messageId);
    const forgotten = this.#statements.oldRemoved.get(threadNo)?.[0];
    if (forgotten === undefined) return;
    this.#statements.forgetRemoved.run(threadNo, forgotten);
    this.#statements.setRemovedTo.run(forgotten, threadNo);
  }

  /** Stores what changed with the messages of a thread, and moves it in its lists. */
  setActivity(project: ProjectKey, thread: StoredThread, activity: ThreadActivity, revision: string): void {
    const { userMessages, actionMessages, deletedMessages, lastMessageAt, shown } = activity;
    const counts = [userMessages, actionMessages, deletedMessages] as const;
    this.#statements.updateActivity.run(...counts, lastMessageAt, shown, revision, thread.threadNo);
    this.#lists.replace(project, thread, { ...thread, lastMessageAt });
  }

  #create(
    project: ProjectKey,
    id: string,
    write: StoredThreadWrite,
    context: ConditionalContext,
  ): PutThreadOutcome {
    const { createdAt = context.now } = write;
    const groupId = write.groupId as string;
    const [groupNo] = this.#statements.group.get(project, groupId) as [groupNo: number, status: Status];
    this.#freeId(project, id);
    const fields = newThread(write, context.now);
    const conversationNo = this.#conversationOf(groupNo);
    const { resolvedAt, name, url, location, metadata } = fields;
    const key = [project, conversationNo, id, context.revision, createdAt] as const;
    const threadNo = this.#statements.insert.insert(...key, resolvedAt, name, url, location, metadata);
    const listed = { threadNo, conversationNo, location, resolvedAt, createdAt, lastMessageAt: null };
    this.#lists.replace(project, null, listed);
    return { kind: 'created', changes: [{ type: 'thread.created', group: groupId, thread: id }] };
  }

  /** The status of the thread's group, or of another one that the write names. */
  groupStatus(project: ProjectKey, groupId: string, thread: StoredThread | null): Status | null {
    if (groupId === thread?.groupId) return thread.groupStatus;
    return this.#statements.group.get(project, groupId)?.[1] ?? null;
  }

  #conversationOf(groupNo: number): number {
    const row = this.#statements.conversation.get(groupNo);
    return row === undefined ? this.#statements.addConversation.insert(groupNo) : row[0];
  }

  /** Takes the ID from a thread whose group was deleted and that is still to be purged. */
  #freeId(project: ProjectKey, id: string): void {
    const waiting = LISTED.toFound(this.#statements.waiting.get(project, id));
    if (waiting === null) return;
    this.#lists.replace(project, waiting, null);
    this.#statements.delete.run(waiting.threadNo);
  }

  #change(
    project: ProjectKey,
    thread: StoredThread,
    write: StoredThreadWrite,
    context: ConditionalContext,
  ): PutThreadOutcome {
    const after = changedThread(thread, write, changeTime(thread, context.now));
    const changes = threadChanges({ group: thread.groupId, thread: thread.id }, thread, after);
    if (changes.length === 0) return UNCHANGED;
    const { resolvedAt, name, url, location, metadata } = after;
    this.#statements.update.run(resolvedAt, name, url, location, metadata, context.revision, thread.threadNo);
    this.#lists.replace(project, thread, { ...thread, ...after });
    return { kind: 'updated', changes };
  }
}
