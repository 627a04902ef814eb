import type { Row, SqliteConnection } from '../sqlite-connection.ts';
import { LISTED, ThreadLists } from './sqlite-conversation-lists.ts';
import { SEQ_BITS } from './sqlite-message-numbers.ts';

/** Messages and participants that are removed in one transaction, and the bytes of content: a few milliseconds, which writes wait. */
const SLICE_ROWS = 250;
const SLICE_BYTES = 512 * 1_024;

/** Removes what deleted groups and deleted threads left of conversations, on the writer's thread. */
export class ConversationPurge {
  readonly #statements;
  readonly #lists: ThreadLists;

  constructor(connection: SqliteConnection) {
    const { prepare } = connection;
    this.#lists = new ThreadLists(connection);
    const THREAD = `SELECT ${LISTED.sql}, project_no FROM threads`;
    const OF_THREAD = `message_no >= (?1 << ${SEQ_BITS})`;
    this.#statements = {
      nextConversation: prepare<[number]>(
        'SELECT conversation_no FROM conversations WHERE group_no IS NULL LIMIT 1',
      ),
      removeConversation: prepare('DELETE FROM conversations WHERE conversation_no = ?'),
      nextThread: prepare(`${THREAD} WHERE conversation_no = ? LIMIT 1`),
      nextDeletedThread: prepare(`${THREAD} WHERE conversation_no IS NULL LIMIT 1`),
      messages: prepare<[seq: number, bytes: number]>(`
        SELECT seq, content_bytes FROM messages WHERE ${OF_THREAD} AND message_no < ((?1 + 1) << ${SEQ_BITS})
        ORDER BY message_no LIMIT ${SLICE_ROWS}`),
      removePieces: prepare(
        `DELETE FROM message_pieces WHERE ${OF_THREAD} AND message_no <= (?1 << ${SEQ_BITS}) | ?2`,
      ),
      removeMessages: prepare(
        `DELETE FROM messages WHERE ${OF_THREAD} AND message_no <= (?1 << ${SEQ_BITS}) | ?2`,
      ),
      removeParticipants: prepare(`
        DELETE FROM participants WHERE (thread_no, user_id) IN (
          SELECT thread_no, user_id FROM participants WHERE thread_no = ?1 LIMIT ${SLICE_ROWS})`),
      removeRemoved: prepare('DELETE FROM removed_messages WHERE thread_no = ?'),
      removeThread: prepare('DELETE FROM threads WHERE thread_no = ?'),
    };
  }

  /** Removes a slice. False when nothing is left to remove. */
  run(): boolean {
    let rows = 0;
    let removed: number;
    do {
      removed = this.#removeSome();
      rows += removed;
    } while (removed > 0 && rows < SLICE_ROWS);
    return rows > 0;
  }

  /** Counts at least each row that it removes. */
  #removeSome(): number {
    const deleted = this.#statements.nextDeletedThread.get();
    if (deleted !== undefined) return this.#removeOfThread(deleted);
    const conversationNo = this.#statements.nextConversation.get()?.[0];
    if (conversationNo === undefined) return 0;
    const thread = this.#statements.nextThread.get(conversationNo);
    return thread === undefined
      ? this.#statements.removeConversation.run(conversationNo)
      : this.#removeOfThread(thread);
  }

  #removeOfThread(row: Row): number {
    const thread = LISTED.toRecord(row);
    const { threadNo } = thread;
    const messages = this.#removeSomeMessages(threadNo);
    if (messages > 0) return messages;
    const participants = this.#statements.removeParticipants.run(threadNo);
    if (participants > 0) return participants;
    const project = row.at(-1) as number | null;
    // Where it is null, the thread is in no list any more.
    if (project !== null) this.#lists.replace(project, thread, null);
    this.#statements.removeRemoved.run(threadNo);
    this.#statements.removeThread.run(threadNo);
    // The thread has about as many rows in lists.
    return 10;
  }

  #removeSomeMessages(threadNo: number): number {
    let [rows, bytes, last] = [0, 0, 0];
    for (const [seq, size] of this.#statements.messages.iterate(threadNo)) {
      [rows, bytes, last] = [rows + 1, bytes + size, seq];
      if (bytes > SLICE_BYTES) break;
    }
    if (rows === 0) return 0;
    this.#statements.removePieces.run(threadNo, last);
    this.#statements.removeMessages.run(threadNo, last);
    return bytes > SLICE_BYTES ? SLICE_ROWS : rows;
  }
}
