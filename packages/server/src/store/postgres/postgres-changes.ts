import { randomUUID } from 'node:crypto';
import type { ProjectKey } from '../../values/project-key.ts';
import { actorOf, actorText } from '../actor-text.ts';
import { type Change, STATUS_EVENTS, storedTexts } from '../changes.ts';
import { CHANGES_READ_MAX_BYTES, type ChangeRecord, type ChangeStore } from '../ports/changes.ts';
import type { WriteContext } from '../write-context.ts';
import { type Call, planEachTime, type Row } from './connections/postgres-connection.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { textArray } from './postgres-text.ts';

/** Most projects of which one step removes expired records, and most records of one project that it removes. */
const PROJECTS_AT_ONCE = 50;
const REMOVED_AT_ONCE = 1_000;

/** Records that one pass gives positions to, and the rest of the last one's write. */
const ORDERED_AT_ONCE = 1_000;

/** The records after the position $2, beside the state of the project's record. */
const READ = `
  SELECT state.newest, state.oldest, found.feed_position, found.at, found.actor, found.request_id, found.changes
  FROM (
    SELECT coalesce((SELECT position FROM change_heads WHERE project_id = $1), 0) AS newest, (
      SELECT feed_position FROM changes WHERE project_id = $1 AND feed_position IS NOT NULL
      ORDER BY feed_position LIMIT 1) AS oldest) AS state
  LEFT JOIN (
    SELECT r.*, sum(octet_length(r.changes)) OVER (ORDER BY r.feed_position) - octet_length(r.changes) AS bytes_before
    FROM (
      SELECT feed_position, at, actor, request_id, changes FROM changes
      WHERE project_id = $1 AND feed_position > $2 ORDER BY feed_position LIMIT $3::bigint) AS r) AS found
    ON found.bytes_before <= ${CHANGES_READ_MAX_BYTES}
  ORDER BY found.feed_position`;

const RECORD = `
  WITH texts AS (SELECT text, part FROM unnest($5::text[]) WITH ORDINALITY AS t(text, part)),
  head AS (
    INSERT INTO changes (project_id, at, actor, request_id, changes)
    SELECT $1, $2, $3, $4, text FROM texts WHERE part = 1 RETURNING position)
  INSERT INTO changes (project_id, at, actor, request_id, changes, first_position)
  SELECT $1, $2, $3, $4, texts.text, head.position FROM head CROSS JOIN texts WHERE texts.part > 1 ORDER BY texts.part`;

const TO_ORDER = 'FROM changes WHERE feed_position IS NULL';
const HAS_TO_ORDER = `SELECT EXISTS (SELECT 1 ${TO_ORDER})`;

/** Locks the order for the pass $1, unless another process has locked it, or nothing is to be ordered. */
const LOCK_ORDER = `
  UPDATE change_order SET pass = $1 WHERE (${HAS_TO_ORDER}) AND id = (
    SELECT id FROM change_order WHERE id = 1 FOR UPDATE SKIP LOCKED)`;

/**
 * Gives the next positions of their projects to the records that are visible now, in the order of their writing. Needs the lock
 * of the pass $1. The rows of one write are visible together, and the last write of a pass is not divided.
 */
const ORDER = planEachTime(`
  WITH next AS (
    SELECT coalesce(first_position, position) AS first ${TO_ORDER}
      AND EXISTS (SELECT 1 FROM change_order WHERE id = 1 AND pass = $1)
    ORDER BY coalesce(first_position, position), position LIMIT ${ORDERED_AT_ONCE}),
  visible AS (
    SELECT project_id, position, row_number() OVER (PARTITION BY project_id ORDER BY first, position) AS part,
      count(*) OVER (PARTITION BY project_id) AS parts
    FROM (
      SELECT project_id, position, coalesce(first_position, position) AS first ${TO_ORDER}
        AND coalesce(first_position, position) <= (SELECT max(first) FROM next)
      ORDER BY coalesce(first_position, position), position OFFSET 0) AS r),
  heads AS (
    INSERT INTO change_heads (project_id, position) SELECT project_id, count(*) FROM visible GROUP BY project_id
    ON CONFLICT (project_id) DO UPDATE SET position = change_heads.position + excluded.position
    RETURNING project_id, position),
  ordered AS (
    UPDATE changes AS c SET feed_position = heads.position - visible.parts + visible.part
    FROM visible JOIN heads ON heads.project_id = visible.project_id
    WHERE c.project_id = visible.project_id AND c.position = visible.position)
  SELECT project_id, position FROM heads`);

/** Removes the oldest records of the projects whose oldest record is of before the time $1. */
const REMOVE_BEFORE = planEachTime(`
  WITH expired AS (
    SELECT p.project_id FROM projects p CROSS JOIN LATERAL (
      SELECT c.at FROM changes c WHERE c.project_id = p.project_id AND c.feed_position IS NOT NULL
      ORDER BY c.feed_position LIMIT 1) AS oldest
    WHERE oldest.at < $1 LIMIT ${PROJECTS_AT_ONCE}),
  old AS (
    SELECT expired.project_id, found.last FROM expired CROSS JOIN LATERAL (
      SELECT max(r.feed_position) AS last FROM (
        SELECT c.feed_position, c.at FROM changes c
        WHERE c.project_id = expired.project_id AND c.feed_position IS NOT NULL
        ORDER BY c.feed_position LIMIT ${REMOVED_AT_ONCE}) AS r
      WHERE r.at < $1) AS found),
  gone AS (
    DELETE FROM changes c USING old
    WHERE c.project_id = old.project_id AND c.feed_position <= old.last RETURNING 1)
  SELECT count(*) FROM gone`);

/** The parameters of the time and the actor of changes. */
export const originOf = ({ now, actor, requestId }: WriteContext) =>
  [now, actorText(actor), requestId] as const;

/**
 * A part of a WITH clause that records changes in the statement that makes them: the text that `select` gives, if it is
 * one. The origin is in three parameters from `first` on. $1 is the project.
 */
export const recorded = (select: string, first: number) => `
  recorded AS (
    INSERT INTO changes (project_id, at, actor, request_id, changes)
    SELECT $1, $${first}::bigint, $${first + 1}::text, $${first + 2}::text, made.text FROM (${select}) AS made(text) WHERE made.text <> '[]')`;

/** The calls that record changes in a transaction. Single statements record their own changes. */
export function recordCalls(project: ProjectKey, changes: readonly Change[], context: WriteContext): Call[] {
  const texts = storedTexts(changes);
  return texts.length === 0 ? [] : [[RECORD, project, ...originOf(context), textArray(texts)]];
}

const STATUS_EVENT = `CASE t.status ${Object.entries(STATUS_EVENTS)
  .map(([status, event]) => `WHEN '${status}' THEN '${event}'`)
  .join(' ')} END`;

/** Changes that are known before the statement runs, as the text to record. */
export const textOfChanges = (changes: readonly Change[]): string => storedTexts(changes)[0] ?? '[]';

/** The changes that a statement has recorded. */
export const parseChanges = (text: unknown): Change[] => (text === null ? [] : JSON.parse(text as string));

/**
 * SQL of a JSON array: the changes of the resource with the ID $2, whose row was `before` and is `t` now. It is
 * `resourceChanges` for a statement that records what it changes.
 */
export function updateChanges(resource: 'user' | 'group', columns: readonly string[]): string {
  const differs = (column: string) => `before.${column} IS DISTINCT FROM t.${column}`;
  const named = columns.map((column) => `CASE WHEN ${differs(column)} THEN '"${column}"' END`).join(', ');
  const id = `'","${resource}":' || to_json($2::text)::text`;
  return `'[' || concat_ws(',',
    CASE WHEN ${columns.map(differs).join(' OR ')} THEN
      '{"type":"${resource}.updated' || ${id} || ',"fields":[' || concat_ws(',', ${named}) || ']}' END,
    CASE WHEN before.status <> t.status THEN
      '{"type":"${resource}.' || ${STATUS_EVENT} || ${id} || '}' END) || ']'`;
}

/** Recorded changes (see the port). */
export function changeStore({ database }: PostgresEngine): ChangeStore {
  return {
    async read(project, after, limit) {
      const rows = await database.read(READ, project, after, limit);
      const [newest, oldest] = rows[0] as [number, number | null];
      return {
        // The key is random, and a project has another one in every store.
        epoch: String(project).replaceAll('-', ''),
        newest,
        removedTo: oldest === null ? newest : oldest - 1,
        records: rows.filter((row) => row[2] !== null).map(toRecord),
      };
    },
    order: () =>
      database.operation((attempt) =>
        attempt.transaction(async (transaction) => {
          const pass = randomUUID();
          // One round trip: a process that is paused does not retain the lock.
          const [, heads, left] = await transaction.commit([
            [LOCK_ORDER, pass],
            [ORDER, pass],
            [HAS_TO_ORDER],
          ]);
          return {
            newest: (heads as Row[]).map(([project, position]) => [project as string, position as number]),
            hasMore: left?.[0]?.[0] === true,
          };
        }),
      ),
    removeBefore: (time) =>
      database.operation(async (attempt) => {
        const [row] = await attempt.run(REMOVE_BEFORE, time);
        return Number(row?.[0]) > 0;
      }),
  };
}

const toRecord = ([, , position, at, actor, requestId, changes]: Row): ChangeRecord => ({
  position: position as number,
  at: at as number,
  actor: actorOf(actor as string),
  requestId: requestId as string | null,
  changes: parseChanges(changes),
});
