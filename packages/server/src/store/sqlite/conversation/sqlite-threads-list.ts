import type { Json } from '../../../values/json.ts';
import type { LocationFilter } from '../../../values/location-filter.ts';
import { locationTest } from '../../../values/location-pairs.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import {
  COUNTED_MAX,
  PARTICIPANT_BYTES,
  SEARCHED_MAX,
  WORK_MAX,
} from '../../conversation/thread-page-bounds.ts';
import type { ThreadListRequest, ThreadPage, ThreadRecord, ThreadStore } from '../../ports/threads.ts';
import { locationKey, pairKeys } from '../presence/sqlite-location-keys.ts';
import { UNPEEKED } from '../sqlite-pages.ts';
import type { ReadStatement, SqliteReader } from '../sqlite-reader.ts';
import { ALL, ofConversation, within } from './sqlite-conversation-lists.ts';

/** After every activity and every number of a thread. */
const LAST = Number.MAX_SAFE_INTEGER;

/** A thread, and how many participants it shows and unread messages were counted for it. */
export interface ReadThread {
  readonly thread: ThreadRecord;
  readonly work: number;
}

/** How a list reads a thread: null where its group is gone. */
type ReadListed = (threadNo: number, viewer: string | null) => ReadThread | null;

/** Reads of lists of threads, on the main thread. */
export function threadListReads(
  reader: Pick<SqliteReader, 'prepare'>,
  read: ReadListed,
): Pick<ThreadStore, 'list'> {
  const conversation = reader.prepare(`
    SELECT conversation_no FROM groups g CROSS JOIN conversations c ON c.group_no = g.group_no
    WHERE g.project_no = ? AND g.id = ?`);
  const range = (isResolved: number) => `
    SELECT l.activity, l.thread_no, t.conversation_no, t.location FROM thread_lists l
      CROSS JOIN threads t ON t.thread_no = l.thread_no
    WHERE l.project_no = ?1 AND l.list_key = ?2 AND l.is_resolved = ${isResolved}
      AND (l.activity, l.thread_no) < (?3, ?4)`;
  const order = 'ORDER BY 1 DESC, 2 DESC';
  const [open, resolved, all] = [
    reader.prepare(`${range(0)} ${order}`),
    reader.prepare(`${range(1)} ${order}`),
    reader.prepare(`${range(0)} UNION ALL ${range(1)} ${order}`),
  ];
  const count = reader.prepare<[number]>(`
    SELECT count(*) FROM (
      SELECT 1 FROM thread_lists WHERE project_no = ? AND list_key = ? LIMIT ${UNPEEKED})`);
  const lengthOf = (project: ProjectKey, key: number, most: number) =>
    count.get(project, key, most)?.[0] ?? 0;
  /** Of several lists that have all threads that pass, the shortest. */
  const shortest = (project: ProjectKey, [first = ALL, ...others]: readonly number[]): number => {
    if (others.length === 0) return first;
    let [best, length] = [first, lengthOf(project, first, COUNTED_MAX)];
    for (const key of others) {
      const other = lengthOf(project, key, length);
      if (other < length) [best, length] = [key, other];
    }
    return best;
  };
  const EMPTY: ThreadPage = { threads: [], last: null };

  return {
    async list(project, request) {
      const { groupId, resolved: isResolved, location } = request.filter;
      const row = groupId === null ? [null] : conversation.get(project, groupId);
      if (row === undefined) return EMPTY;
      const conversationNo = row[0] as number | null;
      const statement = isResolved === null ? all : isResolved ? resolved : open;
      const passes = passesOf(conversationNo, location);
      const key = shortest(project, keysOf(conversationNo, location));
      const from = [project, key, ...startOf(request.after)] as const;
      return readPage(statement.iterate(...from), passes, request, read);
    },
  };
}

/** The lists each of which has all threads that pass the filter; other threads in them may not pass. */
function keysOf(conversationNo: number | null, location: LocationFilter): number[] {
  if (location === null) return [conversationNo === null ? ALL : ofConversation(conversationNo)];
  const keys = location.partial ? pairKeys(location.location) : [locationKey(location.location)];
  return conversationNo === null ? keys : keys.map((key) => within(conversationNo, key));
}

type Passes = (conversationNo: number, location: Json | null) => boolean;

/** Different filters may, hardly ever, share a key. */
function passesOf(conversationNo: number | null, filter: LocationFilter): Passes {
  const isOfGroup = (other: number) => conversationNo === null || other === conversationNo;
  if (filter === null) return isOfGroup;
  const passes = locationTest(filter);
  return (other, location) => isOfGroup(other) && location !== null && passes(location);
}

function readPage(
  rows: ReturnType<ReadStatement['iterate']>,
  passes: Passes,
  { limit, maxBytes, viewer }: ThreadListRequest,
  read: ReadListed,
): ThreadPage {
  const threads: ThreadRecord[] = [];
  let last: string | null = null;
  let [searched, bytes, work] = [0, 0, 0];
  for (const row of rows) {
    const [activity, threadNo, conversationNo, location] = row as [number, number, number, Json | null];
    const found = passes(conversationNo, location) ? read(threadNo, viewer) : null;
    if (found !== null) {
      if (threads.length === limit || bytes > maxBytes || work > WORK_MAX) return { threads, last };
      threads.push(found.thread);
      bytes += bytesOf(found.thread);
      work += found.work;
    }
    searched += 1;
    last = `${activity} ${threadNo}`;
    if (searched === SEARCHED_MAX) return { threads, last };
  }
  return { threads, last: null };
}

function startOf(after: string | null): readonly [activity: number, threadNo: number] {
  const [activity = LAST, threadNo = LAST] = after?.split(' ').map(Number) ?? [];
  return [activity, threadNo];
}

const bytesOf = ({ id, name, url, location, metadata, participants }: ThreadRecord): number => {
  const users = participants.map(({ userId }) => userId);
  const texts = [id, name, url, location, metadata, ...users].join('');
  return Buffer.byteLength(texts) + users.length * PARTICIPANT_BYTES;
};
