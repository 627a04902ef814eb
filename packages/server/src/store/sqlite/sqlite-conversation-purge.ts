import type { SqliteConnection } from './sqlite-connection.ts';
import type { ListedThread } from './sqlite-conversation-lists.ts';
import { ThreadLists } from './sqlite-conversation-lists.ts';
import { SEQ_BITS } from './sqlite-message-numbers.ts';

/** Messages and participants that are removed in one transaction, and the bytes of content: some 10 ms. */
const SLICE_ROWS = 1_000;
const SLICE_BYTES = 2 * 1_024 ** 2;

/** Removes what deleted groups and deleted threads left of conversations, on the writer's thread. */
export class ConversationPurge {
  readonly #lists: ThreadLists;
  readonly #nextConversation;
  readonly #removeConversation;
  readonly #nextThread;
  readonly #nextDeletedThread;
  readonly #messages;
  readonly #removePieces;
  readonly #removeMessages;
  readonly #removeParticipants;
  readonly #removeRemoved;
  readonly #removeThread;

  constructor(connection: SqliteConnection) {
    const prepare = (sql: string) => connection.prepare(sql);
    this.#lists = new ThreadLists(connection);
    this.#nextConversation = prepare(
      'SELECT conversation_no FROM conversations WHERE group_no IS NULL LIMIT 1',
    );
    this.#removeConversation = prepare('DELETE FROM conversations WHERE conversation_no = ?');
    const COLUMNS =
      'thread_no, project_no, conversation_no, location, resolved_at, created_at, last_message_at';
    this.#nextThread = prepare(`SELECT ${COLUMNS} FROM threads WHERE conversation_no = ? LIMIT 1`);
    this.#nextDeletedThread = prepare(`SELECT ${COLUMNS} FROM threads WHERE conversation_no IS NULL LIMIT 1`);
    const OF_THREAD = `message_no >= (?1 << ${SEQ_BITS})`;
    this.#messages = prepare(`
      SELECT seq, content_bytes FROM messages WHERE ${OF_THREAD} AND message_no < ((?1 + 1) << ${SEQ_BITS})
      ORDER BY message_no LIMIT ${SLICE_ROWS}`);
    this.#removePieces = prepare(
      `DELETE FROM message_pieces WHERE ${OF_THREAD} AND message_no <= (?1 << ${SEQ_BITS}) | ?2`,
    );
    this.#removeMessages = prepare(
      `DELETE FROM messages WHERE ${OF_THREAD} AND message_no <= (?1 << ${SEQ_BITS}) | ?2`,
    );
    this.#removeParticipants = prepare(`
      DELETE FROM participants WHERE (thread_no, user_id) IN (
        SELECT thread_no, user_id FROM participants WHERE thread_no = ?1 LIMIT ${SLICE_ROWS})`);
    this.#removeRemoved = prepare('DELETE FROM removed_messages WHERE thread_no = ?');
    this.#removeThread = prepare('DELETE FROM threads WHERE thread_no = ?');
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
    const deleted = this.#nextDeletedThread.get();
    if (deleted !== undefined) return this.#removeOfThread(deleted as ThreadRow);
    const conversationNo = this.#nextConversation.get()?.[0] as number | undefined;
    if (conversationNo === undefined) return 0;
    const thread = this.#nextThread.get(conversationNo);
    return thread === undefined
      ? this.#removeConversation.run(conversationNo)
      : this.#removeOfThread(thread as ThreadRow);
  }

  #removeOfThread(row: ThreadRow): number {
    const [threadNo, project] = row;
    const messages = this.#removeSomeMessages(threadNo);
    if (messages > 0) return messages;
    const participants = this.#removeParticipants.run(threadNo);
    if (participants > 0) return participants;
    if (project !== null) this.#lists.replace(project, listed(row), null);
    this.#removeRemoved.run(threadNo);
    this.#removeThread.run(threadNo);
    // The thread has about as many rows in lists.
    return 10;
  }

  #removeSomeMessages(threadNo: number): number {
    let [rows, bytes, last] = [0, 0, 0];
    for (const [seq, size] of this.#messages.iterate(threadNo) as Iterable<[number, number]>) {
      [rows, bytes, last] = [rows + 1, bytes + size, seq];
      if (bytes > SLICE_BYTES) break;
    }
    if (rows === 0) return 0;
    this.#removePieces.run(threadNo, last);
    this.#removeMessages.run(threadNo, last);
    return bytes > SLICE_BYTES ? SLICE_ROWS : rows;
  }
}

type ThreadRow = [
  threadNo: number,
  project: number | null,
  conversationNo: number,
  location: string | null,
  resolvedAt: number | null,
  createdAt: number,
  lastMessageAt: number | null,
];

function listed([
  threadNo,
  ,
  conversationNo,
  location,
  resolvedAt,
  createdAt,
  lastMessageAt,
]: ThreadRow): ListedThread {
  return { threadNo, conversationNo, location, resolvedAt, createdAt, lastMessageAt };
}
