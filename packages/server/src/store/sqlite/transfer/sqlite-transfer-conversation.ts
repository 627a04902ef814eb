import type { ProjectKey } from '../../../values/project-key.ts';
import { newMessage, recounted } from '../../conversation/conversation-writes.ts';
import { seenBy } from '../../conversation/shown-participants.ts';
import { messageWriteOf, threadWriteOf } from '../../conversation/transfer-conversation.ts';
import { TransferError } from '../../ports/transfer.ts';
import type { ConversationRecord, RecordOf } from '../../transfer-records.ts';
import { MessageWrites } from '../conversation/sqlite-messages-writes.ts';
import {
  type StoredThread,
  type ThreadActivity,
  ThreadWrites,
} from '../conversation/sqlite-threads-writes.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';

/** An import records no changes. */
const ORIGIN = { actor: { kind: 'command_line', id: null }, requestId: null } as const;

/** The thread whose records are imported, and what its participants and messages so far make of it. */
interface OpenThread {
  readonly project: ProjectKey;
  readonly stored: StoredThread;
  activity: ThreadActivity;
}

/** Threads, participants and messages of an import. What they change of one thread is in memory until another one follows. */
export class ConversationImport {
  readonly #threads: ThreadWrites;
  readonly #messages: MessageWrites;
  readonly #addParticipant;
  #open: OpenThread | null = null;

  constructor(connection: SqliteConnection) {
    this.#threads = new ThreadWrites(connection);
    this.#messages = new MessageWrites(connection, this.#threads);
    this.#addParticipant = connection.prepare(
      'INSERT INTO participants (thread_no, user_id, last_seen_at) VALUES (?, ?, ?)',
    );
  }

  /** @throws TransferError; SQLite's error where a record is there twice */
  insert(project: ProjectKey, record: ConversationRecord): void {
    if (record.type === 'thread') this.#insertThread(project, record);
    else if (record.type === 'participant')
      this.#insertParticipant(this.#openThread(project, record), record);
    else this.#insertMessage(this.#openThread(project, record), record);
  }

  #insertThread(project: ProjectKey, record: RecordOf<'thread'>): void {
    const context = {
      // The record has all of its times, and no clock checks them.
      now: Number.POSITIVE_INFINITY,
      revision: record.revision,
      ifNoneMatch: '*',
      ...ORIGIN,
    } as const;
    const { kind } = this.#threads.put(project, record.id, threadWriteOf(record), context);
    if (kind === 'groupUnavailable')
      throw new TransferError('there is no earlier record of the group', record);
    if (kind !== 'created') throw new TransferError('an earlier thread record is about the same', record);
  }

  #insertParticipant(open: OpenThread, { user, last_seen_at }: RecordOf<'participant'>): void {
    this.#addParticipant.run(open.stored.threadNo, user, last_seen_at);
    open.activity = { ...open.activity, shown: seenBy(open.activity.shown, user, last_seen_at) };
  }

  #insertMessage(open: OpenThread, record: RecordOf<'message'>): void {
    const { created_at: now, revision } = record;
    const write = messageWriteOf(record);
    this.#messages.insert(open.stored, record.id, write, { now, revision });
    const { activity } = open;
    open.activity = {
      ...activity,
      ...recounted(activity, null, newMessage(write, now)),
      lastMessageAt: Math.max(activity.lastMessageAt ?? now, now),
    };
  }

  #openThread(project: ProjectKey, record: Exclude<ConversationRecord, { type: 'thread' }>): OpenThread {
    const open = this.#open;
    if (open !== null && open.project === project && open.stored.id === record.thread) return open;
    this.finish();
    const stored = this.#threads.find(project, record.thread);
    if (stored === null) throw new TransferError('there is no earlier record of the thread', record);
    const opened = { project, stored, activity: stored };
    this.#open = opened;
    return opened;
  }

  /** Stores what changed of the last thread. */
  finish(): void {
    if (this.#open === null) return;
    const { project, stored, activity } = this.#open;
    if (activity !== stored) this.#threads.setActivity(project, stored, activity, stored.revision);
    this.#open = null;
  }
}
