/** The columns of a message. $1 is the project. */
import { columnsOf } from '../../columns.ts';
import { messageColumns } from '../../conversation/conversation-columns.ts';
import { MARKDOWN_END, type MessageRecord } from '../../ports/messages.ts';

/** The whole content of the message `m` of a project. */
export const contentOf = (project: string) => `
  CASE WHEN m.markdown_length IS NULL THEN m.content ELSE m.content || CASE WHEN m.piece_count = 0 THEN '' ELSE (
    SELECT string_agg(p.text, '' ORDER BY p.piece_no) FROM message_pieces p
    WHERE p.project_id = ${project} AND p.thread_no = m.thread_no AND p.seq = m.seq) END || '${MARKDOWN_END}' END`;

export const CONTENT = contentOf('$1');

export const MESSAGE_COLUMNS = columnsOf<MessageRecord>({ ...messageColumns('m.type'), content: CONTENT });
