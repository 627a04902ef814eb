/** What is read of a message. $1 is the project. */
import type { MessageType } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import { MARKDOWN_END, type MessageRecord } from '../ports/messages.ts';
import type { Row } from './connections/postgres-connection.ts';

/** The whole content of the message `m` of a project. */
export const contentOf = (project: string) => `
  CASE WHEN m.markdown_length IS NULL THEN m.content ELSE m.content || CASE WHEN m.piece_count = 0 THEN '' ELSE (
    SELECT string_agg(p.text, '' ORDER BY p.piece_no) FROM message_pieces p
    WHERE p.project_id = ${project} AND p.thread_no = m.thread_no AND p.seq = m.seq) END || '${MARKDOWN_END}' END`;

export const CONTENT = contentOf('$1');

/** What is read of the message `m`, for {@link toMessage}. */
export const MESSAGE_COLUMNS = `m.id, m.author_id, m.type, ${CONTENT}, m.url, m.metadata, m.created_at, m.updated_at, m.deleted_at, m.revision,
  m.position, m.written_position, m.markdown_length`;

export function toMessage(row: Row): MessageRecord {
  return {
    id: row[0] as string,
    authorId: row[1] as string,
    type: row[2] as MessageType,
    content: row[3] as Json,
    url: row[4] as string | null,
    metadata: row[5] as Json,
    createdAt: row[6] as number,
    updatedAt: row[7] as number | null,
    deletedAt: row[8] as number | null,
    revision: row[9] as string,
    position: row[10] as number,
    writtenPosition: row[11] as number,
    markdownLength: row[12] as number | null,
  };
}
