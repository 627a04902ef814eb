import { limits } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { columnsOf } from '../../columns.ts';
import { type MessageRow, messageColumns } from '../../conversation/conversation-columns.ts';
import {
  changedMessage,
  changedMessageFields,
  changeTime,
  countOf,
  groupError,
  messageError,
  messageTime,
  newMessage,
  recounted,
  updateTime,
} from '../../conversation/conversation-writes.ts';
import { latestSeen } from '../../conversation/shown-participants.ts';
import { idSample, UNCHANGED, type Updated, type Written } from '../../outcomes.ts';
import type { MessageStore, StoredMessageWrite } from '../../ports/messages.ts';
import { preconditionFailure } from '../../precondition.ts';
import type { ConditionalContext } from '../../write-context.ts';
import { ELIGIBILITY, type EligibilityRow, toEligibility } from '../presence/sqlite-eligibility.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import type { Write } from '../sqlite-methods.ts';
import { MESSAGE, SEQ_BITS } from './sqlite-message-numbers.ts';
import { CONTENT, MESSAGE_TYPE } from './sqlite-messages.ts';
import { MessagePieces } from './sqlite-messages-pieces.ts';
import type { StoredThread, ThreadWrites } from './sqlite-threads-writes.ts';

interface StoredMessage extends MessageRow {
  readonly seq: number;
  readonly contentBytes: number;
}

const STORED = columnsOf<StoredMessage>({
  ...messageColumns(MESSAGE_TYPE),
  seq: 'm.seq',
  contentBytes: 'm.content_bytes',
});

/** A write with all that a new message needs. */
type Creation = StoredMessageWrite & Required<Pick<StoredMessageWrite, 'authorId' | 'content' | 'createdAt'>>;

/** The message that a write changes. */
interface Target {
  readonly thread: StoredThread;
  readonly message: StoredMessage;
  readonly id: string;
}

/** A message, as changes of it name it. */
const messageOf = ({ groupId, id }: StoredThread, message: string) => ({
  group: groupId,
  thread: id,
  message,
});

/** Writes of messages, on the writer's thread. */
export class MessageWrites {
  readonly #statements;
  readonly #threads: ThreadWrites;
  readonly #pieces: MessagePieces;

  constructor(connection: SqliteConnection, threads: ThreadWrites) {
    this.#threads = threads;
    this.#pieces = new MessagePieces(connection);
    const { prepare } = connection;
    this.#statements = {
      find: prepare(`SELECT ${STORED.sql} FROM messages m WHERE thread_no = ? AND id = ?`),
      content: prepare<[string]>(`SELECT ${CONTENT} FROM messages m WHERE m.${MESSAGE}`),
      user: prepare('SELECT 1 FROM users WHERE project_no = ? AND id = ?'),
      eligibility: prepare<EligibilityRow>(ELIGIBILITY),
      insert: prepare(`
        INSERT INTO messages (message_no, thread_no, seq, position, written_position, id, author_id, revision, is_action,
          is_deleted, created_at, updated_at, deleted_at, markdown_length, content_bytes, url, metadata, content)
        VALUES ((?1 << ${SEQ_BITS}) | ?2, ?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8 IS NOT NULL, ?9, ?10, ?8, ?12, ?13, ?14, ?15,
          ?11)`),
      update: prepare(`
        UPDATE messages SET is_action = ?, url = ?, metadata = ?, updated_at = ?, deleted_at = ?, is_deleted = ?,
          revision = ?, position = ?, written_position = ? WHERE ${MESSAGE}`),
      replaceContent: prepare(
        `UPDATE messages SET content = ?, markdown_length = ?, content_bytes = ? WHERE ${MESSAGE}`,
      ),
      delete: prepare(`DELETE FROM messages WHERE ${MESSAGE}`),
      latest: prepare<[number]>(`
        SELECT created_at FROM messages INDEXED BY messages_by_time WHERE thread_no = ?
        ORDER BY created_at DESC LIMIT 1`),
      setLength: prepare(
        `UPDATE messages SET markdown_length = ?, content_bytes = ?, revision = ?, position = ? WHERE ${MESSAGE}`,
      ),
    };
  }

  readonly put: Write<MessageStore['put']> = (project, threadId, id, write, context) => {
    const thread = this.#threads.find(project, threadId);
    const message = thread === null ? null : this.#read(thread, id);
    const error = messageError(this.#found(project, thread, message, write), write, context);
    if (error !== null) return error;
    if (thread !== null && message !== null)
      return this.#change(project, { thread, message, id }, write, context);
    if (thread !== null) return this.#create(project, thread, id, write, context);
    const { now, revision, actor, requestId } = context;
    const origin = { now, revision, actor, requestId };
    const made = this.#threads.put(project, threadId, write.createThread ?? {}, origin);
    if (made.kind !== 'created') return made;
    const madeThread = this.#threads.find(project, threadId) as StoredThread;
    const created = this.#create(project, madeThread, id, write, context);
    return { kind: 'created', changes: [...made.changes, ...created.changes] };
  };

  readonly append: Write<MessageStore['append']> = (project, threadId, id, append, context) => {
    const { escaped, length, offset } = append;
    const thread = this.#threads.find(project, threadId);
    if (thread === null) return { kind: 'threadAbsent' };
    const message = this.#read(thread, id);
    if (message === null) return { kind: 'absent' };
    const unavailable = groupError(thread.groupId, thread.groupStatus, {});
    if (unavailable !== null) return unavailable;
    const { markdownLength, deletedAt, contentBytes, revision } = message;
    if (markdownLength === null || deletedAt !== null) return { kind: 'notAppendable' };
    if (offset !== null && offset !== markdownLength) return { kind: 'stale' };
    if (preconditionFailure(context, revision) !== null) return { kind: 'stale' };
    const bytes = contentBytes + Buffer.byteLength(escaped);
    if (bytes > limits.CONTENT_MAX_BYTES) return { kind: 'tooLarge' };
    if (length === 0) return { kind: 'appended', length: markdownLength, revision, changes: [] };
    const after = markdownLength + length;
    const at = [thread.threadNo, message.seq] as const;
    this.#statements.setLength.run(after, bytes, context.revision, this.#threads.advance(thread), ...at);
    this.#pieces.append(at, escaped);
    const changes = [{ type: 'message.appended', ...messageOf(thread, id) }] as const;
    return { kind: 'appended', length: after, revision: context.revision, changes };
  };

  readonly delete: Write<MessageStore['delete']> = (project, threadId, id, context) => {
    const thread = this.#threads.find(project, threadId);
    if (thread === null) return { kind: 'threadAbsent' };
    const message = this.#read(thread, id);
    if (message === null) return { kind: 'absent' };
    if (preconditionFailure(context, message.revision) !== null) return { kind: 'stale' };
    const at = [thread.threadNo, message.seq] as const;
    this.#pieces.remove(at);
    this.#statements.delete.run(...at);
    this.#threads.addRemoved(thread, id);
    const lastMessageAt = this.#statements.latest.get(thread.threadNo)?.[0] ?? null;
    const activity = { ...thread, ...recounted(thread, message, null), lastMessageAt };
    this.#threads.setActivity(project, thread, activity, context.revision);
    return { kind: 'deleted', changes: [{ type: 'message.removed', ...messageOf(thread, id) }] };
  };

  #read({ threadNo }: StoredThread, id: string): StoredMessage | null {
    return STORED.toFound(this.#statements.find.get(threadNo, id));
  }

  /** Creates a message; its write has an author and content. */
  #create(
    project: ProjectKey,
    thread: StoredThread,
    id: string,
    write: StoredMessageWrite,
    context: ConditionalContext,
  ): Written {
    const latest = thread.lastMessageAt;
    const createdAt = messageTime(write, latestSeen(thread.shown), context.now);
    const creation = { ...write, createdAt } as Creation;
    this.insert(thread, id, creation, context);
    const activity = {
      ...recounted(thread, null, newMessage(write, context.now)),
      lastMessageAt: Math.max(latest ?? createdAt, createdAt),
      shown: this.#threads.see(thread, creation.authorId, createdAt) ?? thread.shown,
    };
    this.#threads.setActivity(project, thread, activity, context.revision);
    return { kind: 'created', changes: [{ type: 'message.created', ...messageOf(thread, id) }] };
  }

  /** Inserts a message, and leaves the thread's counts and activity to the caller. */
  insert(
    thread: StoredThread,
    id: string,
    write: Creation,
    { now, revision }: Pick<ConditionalContext, 'now' | 'revision'>,
  ): void {
    const { type, url, metadata, deletedAt } = newMessage(write, now);
    const { authorId, content, createdAt, updatedAt = null } = write;
    const { seq, position } = this.#threads.nextMessage(thread);
    const columns = this.#pieces.columnsOf([thread.threadNo, seq], content);
    const key = [thread.threadNo, seq, position, id, authorId, revision] as const;
    const times = [deletedAt, createdAt, updatedAt] as const;
    const isAction = Number(type === 'action_message');
    this.#statements.insert.run(...key, isAction, ...times, ...columns, url, metadata);
  }

  #change(
    project: ProjectKey,
    { thread, message, id }: Target,
    write: StoredMessageWrite,
    { now, revision }: ConditionalContext,
  ): Updated {
    const time = changeTime(message, now);
    const at = [thread.threadNo, message.seq] as const;
    // Content is read only to be compared with another one.
    const content = write.content === undefined ? '' : (this.#statements.content.get(...at)?.[0] ?? '');
    const before = { ...message, content };
    const after = changedMessage(before, write, time);
    const fields = changedMessageFields(before, after);
    if (fields.length === 0) return UNCHANGED;
    const updatedAt = updateTime(fields, message, time);
    const { type, url, metadata, deletedAt } = after;
    const values = [Number(type === 'action_message'), url, metadata, updatedAt, deletedAt] as const;
    const position = this.#threads.advance(thread);
    this.#statements.update.run(...values, Number(deletedAt !== null), revision, position, position, ...at);
    if (write.content !== undefined && fields.includes('content')) {
      this.#pieces.remove(at);
      this.#statements.replaceContent.run(...this.#pieces.columnsOf(at, write.content), ...at);
    }
    if (countOf(message) !== countOf(after)) {
      const activity = { ...thread, ...recounted(thread, message, after) };
      this.#threads.setActivity(project, thread, activity, revision);
    }
    return { kind: 'updated', changes: [{ type: 'message.updated', ...messageOf(thread, id), fields }] };
  }

  #found(
    project: ProjectKey,
    thread: StoredThread | null,
    message: StoredMessage | null,
    { content }: StoredMessageWrite,
  ): Parameters<typeof messageError>[0] {
    const { eligibility, user } = this.#statements;
    return {
      thread,
      message,
      groupStatus: (groupId) => this.#threads.groupStatus(project, groupId, thread),
      author(groupId, id) {
        const found = toEligibility(eligibility.get(project, groupId, id) as EligibilityRow);
        return { status: found.user, isMember: found.incarnation !== null };
      },
      unknownUsers: () =>
        idSample([...new Set(content?.userIds)].filter((id) => user.get(project, id) === undefined)),
    };
  }
}
