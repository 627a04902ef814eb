import { limits } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { columnsOf, type SqlOf } from '../../columns.ts';
import { type ThreadRow, threadColumns } from '../../conversation/conversation-columns.ts';
import { toParticipants } from '../../conversation/shown-participants.ts';
import type { ThreadRecord } from '../../ports/threads.ts';
import type { Row } from '../sqlite-connection.ts';
import type { Reads } from '../sqlite-methods.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import { type ReadThread, threadListReads } from './sqlite-threads-list.ts';

const OF_GROUP = `CROSS JOIN conversations c ON c.conversation_no = t.conversation_no
  CROSS JOIN groups g ON g.group_no = c.group_no`;
const BY_ID = `${OF_GROUP} WHERE t.project_no = ? AND t.id = ?`;
/** A thread by project and ID; nothing where its group is gone. */
export const THREAD_BY_ID = `FROM threads t ${BY_ID}`;
/** The same for its number and its group only: an index has them, so that its row is not read. */
export const THREAD_NUMBER_BY_ID = `FROM threads t INDEXED BY threads_by_id ${BY_ID}`;

/** A row of the thread `t`. */
export interface FoundThread extends ThreadRow {
  readonly threadNo: number;
  /** JSON: see `shown-participants.ts`. */
  readonly shown: string;
}
export const FOUND_COLUMNS: SqlOf<FoundThread> = {
  ...threadColumns('g.id'),
  threadNo: 't.thread_no',
  shown: 't.participants',
};
const THREAD_COLUMNS = columnsOf(FOUND_COLUMNS);

/** Reads of single threads, with the unread messages of a viewer. */
export function threadReader({ prepare }: Pick<SqliteReader, 'prepare'>) {
  const byId = prepare(`SELECT ${THREAD_COLUMNS.sql} ${THREAD_BY_ID}`);
  const byNumber = prepare(`SELECT ${THREAD_COLUMNS.sql} FROM threads t ${OF_GROUP} WHERE t.thread_no = ?`);
  const lastSeen = prepare<[number]>(
    'SELECT last_seen_at FROM participants WHERE thread_no = ? AND user_id = ?',
  );
  const countAfter = prepare<[number]>(`
    SELECT count(*) FROM (
      SELECT 1 FROM messages INDEXED BY messages_unread
      WHERE thread_no = ? AND created_at > ? AND is_deleted = 0 LIMIT ${limits.UNREAD_MAX})`);

  /** The messages after what the viewer has seen. Null for a viewer who is no participant. */
  const counted = ({ threadNo, lastMessageAt }: FoundThread, viewer: string): number | null => {
    const seen = lastSeen.get(threadNo, viewer)?.[0];
    if (seen === undefined) return null;
    return seen >= (lastMessageAt ?? 0) ? 0 : (countAfter.get(threadNo, seen)?.[0] ?? 0);
  };
  const read = (row: Row | undefined, viewer: string | null): ReadThread | null => {
    if (row === undefined) return null;
    const found = THREAD_COLUMNS.toRecord(row);
    const { threadNo: _, shown, ...thread } = found;
    const participants = toParticipants(shown);
    const after = viewer === null ? null : counted(found, viewer);
    // A viewer who is no participant has seen nothing, and the thread has the number of its messages.
    const all = Math.min(thread.userMessages + thread.actionMessages, limits.UNREAD_MAX);
    const unread = viewer === null ? null : (after ?? all);
    return { thread: { ...thread, participants, unread }, work: participants.length + (after ?? 0) };
  };
  return {
    find: (project: ProjectKey, id: string, viewer: string | null): ThreadRecord | null =>
      read(byId.get(project, id), viewer)?.thread ?? null,
    findListed: (threadNo: number, viewer: string | null) => read(byNumber.get(threadNo), viewer),
  };
}

export function threadReads(reader: Pick<SqliteReader, 'prepare'>): Reads<'threads'> {
  const { find, findListed } = threadReader(reader);
  return {
    find: async (project, id, viewer) => find(project, id, viewer),
    ...threadListReads(reader, findListed),
  };
}
