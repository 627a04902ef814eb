import type { LocationFilter } from '../../../values/location-filter.ts';
import { locationTest } from '../../../values/location-pairs.ts';
import { COUNTED_MAX, SEARCHED_MAX, WORK_MAX } from '../../conversation/thread-page-bounds.ts';
import type { ThreadStore } from '../../ports/threads.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { OnDatabase } from '../connections/postgres-database.ts';
import { rowOf } from '../postgres-lists.ts';
import { plainArray } from '../postgres-text.ts';
import { locationKey, locationPairKeys } from './postgres-conversation-lists.ts';
import { GROUP_OF_THREAD } from './postgres-conversation-rows.ts';
import { THREAD_COLUMNS, threadParts, toThread } from './postgres-threads-columns.ts';

/** The conversation of the lists: that of the group $2, or 0 for all groups. */
const CONVERSATION = `CASE WHEN $2::text IS NULL THEN 0 ELSE (
  SELECT conversation_no FROM conversations WHERE project_id = $1 AND group_id = $2) END`;

const ofList = (location: string, resolved: string) => `
  l.project_id = $1 AND l.conversation_no = (SELECT chosen.conversation_no FROM chosen)
  AND l.location_key = ${location} AND l.resolved = ${resolved} AND ($4::boolean IS NULL OR $4 = ${resolved})`;

/** Of the keys $8 the one with the fewest threads. */
const RAREST = `
  SELECT wanted.key FROM unnest($8::bigint[]) AS wanted(key)
  ORDER BY (SELECT count(*) FROM (
    SELECT 1 FROM thread_lists l WHERE ${ofList('wanted.key', 'FALSE')} LIMIT ${COUNTED_MAX}) AS counted)
    + (SELECT count(*) FROM (
      SELECT 1 FROM thread_lists l WHERE ${ofList('wanted.key', 'TRUE')} LIMIT ${COUNTED_MAX}) AS counted)
  LIMIT 1`;

/** The entries of one list before the position ($5, $6), the latest first. */
const range = (location: string, resolved: 'TRUE' | 'FALSE') => `(
  SELECT l.activity, l.thread_no FROM thread_lists l
  WHERE ${ofList(location, resolved)} AND (l.activity, l.thread_no) < ($5::bigint, $6::bigint)
  ORDER BY l.activity DESC, l.thread_no DESC LIMIT ${SEARCHED_MAX})`;
const entriesOf = (location: string) => `
  SELECT activity, thread_no FROM (${range(location, 'FALSE')} UNION ALL ${range(location, 'TRUE')}) AS entries
  ORDER BY activity DESC, thread_no DESC LIMIT ${SEARCHED_MAX}`;

/** The thread of an entry, if it passes: the exact location $7, all keys of pairs $8. */
const THREAD = rowOf(
  'threads',
  't',
  'r.*',
  `r.thread_no = entry.thread_no AND ($7::text IS NULL OR r.location = $7)
    AND ($8::bigint[] IS NULL OR r.list_keys @> $8)`,
);

/** How large the thread `t` is. */
const BYTES = `octet_length(t.id) + octet_length(t.name) + coalesce(octet_length(t.url), 0)
  + coalesce(octet_length(t.location), 0) + octet_length(t.metadata) + parts.bytes`;

const NEXT = rowOf('threads', 't', 'r.*', 'r.thread_no = (SELECT list[page.ordinal + 1] FROM numbers)');

/**
 * A page: $9 threads at most, and the one with which they exceed $10 bytes, or too many rows are counted, is the last. Each
 * step of the recursion reads one thread, so nothing is counted after that. (How many were found, and one more; the last
 * entry that was searched where the search ended before the list; the position, and the thread. The first row has none.)
 */
const listSql = (location: string, more = '') => `
  WITH RECURSIVE chosen AS MATERIALIZED (SELECT ${CONVERSATION} AS conversation_no),
  ${more}
  found AS MATERIALIZED (
    SELECT entry.activity, entry.thread_no
    FROM (${entriesOf(location)}) AS entry ${THREAD} ${GROUP_OF_THREAD}
    ORDER BY entry.activity DESC, entry.thread_no DESC LIMIT $9::bigint + 1),
  numbers AS MATERIALIZED (
    SELECT count(*) AS count, array_agg(thread_no ORDER BY activity DESC, thread_no DESC) AS list FROM found),
  page AS (
    SELECT 0 AS ordinal, 0::bigint AS bytes, 0::bigint AS work, NULL::text AS participants, NULL::bigint AS unread
    UNION ALL
    SELECT page.ordinal + 1, page.bytes + ${BYTES}, page.work + parts.work, parts.participants, parts.unread
    FROM (
      SELECT * FROM page WHERE ordinal < $9::bigint AND bytes <= $10::bigint AND work <= ${WORK_MAX}) AS page
      ${NEXT} ${threadParts('$11::text')})
  SELECT (SELECT count FROM numbers),
    CASE WHEN (SELECT count FROM numbers) <= $9::bigint THEN (
      SELECT activity || '.' || thread_no FROM (${entriesOf(location)}) AS searched OFFSET ${SEARCHED_MAX - 1} LIMIT 1) END,
    coalesce(t.last_message_at, t.created_at) || '.' || t.thread_no, ${THREAD_COLUMNS.sql}
  FROM page AS parts LEFT JOIN LATERAL (
    SELECT r.* FROM threads AS r
    WHERE r.project_id = $1 AND r.thread_no = (SELECT list[parts.ordinal] FROM numbers) OFFSET 0) AS t ON TRUE
  ORDER BY parts.ordinal`;

/** By the key $3. */
const LIST = listSql('$3::bigint');
/** By one of several keys of pairs. */
const LIST_BY_RAREST = listSql(
  'coalesce($3::bigint, (SELECT rarest.key FROM rarest))',
  `rarest AS MATERIALIZED (${RAREST}),`,
);

const NEWEST = ['9223372036854775807', '9223372036854775807'] as const;

export const listThreads: OnDatabase<ThreadStore['list']> = async (database, project, request) => {
  const { after, limit, maxBytes, viewer } = request;
  const { groupId, location, resolved } = request.filter;
  const [activity, threadNo] = after?.split('.') ?? NEWEST;
  const [key, exact, pairs] = keysOf(location);
  const list = [project, groupId, key, resolved, activity, threadNo] as const;
  const page = [exact, pairs, limit, maxBytes, viewer] as const;
  const rows = await database.read(key === null ? LIST_BY_RAREST : LIST, ...list, ...page);
  const [count, searched] = rows[0] as Row;
  const found = rows.filter(([, , , id]) => id !== null);
  const threads = found.map((row) => toThread(row.slice(3))).filter(matching(location));
  const isCut = (count as number) > found.length;
  return { threads, last: isCut ? (found.at(-1)?.[2] as string) : (searched as string | null) };
};

/** The key of the list, null where it is to be one of several; the exact location, or the keys of all pairs. */
function keysOf(filter: LocationFilter): [key: string | null, exact: string | null, pairs: string | null] {
  if (filter === null) return ['0', null, null];
  if (!filter.partial) return [locationKey(filter.location), filter.location, null];
  const keys = locationPairKeys(filter.location);
  return keys.length === 1 ? [keys[0] as string, null, null] : [null, null, plainArray(keys)];
}

/** Whether a thread that was found by the keys of its pairs has these pairs: keys may be shared. */
function matching(filter: LocationFilter): (thread: { readonly location: string | null }) => boolean {
  if (filter === null) return () => true;
  const passes = locationTest(filter);
  return ({ location }) => location !== null && passes(location);
}
