import { contentColumns } from '../../conversation/conversation-writes.ts';
import type { StoredContent } from '../../ports/messages.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import { MESSAGE, MESSAGE_NO } from './sqlite-message-numbers.ts';

/** A piece that is shorter is extended by the next append: two of them fit on a page of the file. */
const PIECE_BYTES = 1_800;

/** A message by the number of its thread and its own in it. */
type MessageKey = readonly [threadNo: number, seq: number];

/** The texts that were appended to messages, on the writer's thread. An append touches the last piece alone. */
export class MessagePieces {
  readonly #statements;

  constructor({ prepare }: SqliteConnection) {
    this.#statements = {
      last: prepare<[pieceNo: number, bytes: number]>(`
        SELECT piece_no, octet_length(text) FROM message_pieces WHERE ${MESSAGE} ORDER BY piece_no DESC LIMIT 1`),
      add: prepare(`INSERT INTO message_pieces (message_no, piece_no, text) VALUES (${MESSAGE_NO}, ?, ?)`),
      extend: prepare(`UPDATE message_pieces SET text = text || ? WHERE ${MESSAGE} AND piece_no = ?`),
      remove: prepare(`DELETE FROM message_pieces WHERE ${MESSAGE}`),
    };
  }

  /**
   * Content as the row of a message has it. An append writes the whole row, so a long text that can be appended to is the
   * first piece.
   */
  columnsOf(message: MessageKey, content: StoredContent): ReturnType<typeof contentColumns> {
    const [text, markdownLength, bytes] = contentColumns(content);
    if (markdownLength === null || bytes < PIECE_BYTES) return [text, markdownLength, bytes];
    this.#statements.add.run(...message, 1, text);
    return ['', markdownLength, bytes];
  }

  append(message: MessageKey, text: string): void {
    const [pieceNo, bytes] = this.#statements.last.get(...message) ?? [0, PIECE_BYTES];
    if (bytes < PIECE_BYTES) this.#statements.extend.run(text, ...message, pieceNo);
    else this.#statements.add.run(...message, pieceNo + 1, text);
  }

  remove(message: MessageKey): void {
    this.#statements.remove.run(...message);
  }
}
