import type { ProjectKey } from '../../values/project-key.ts';
import { actorOf, actorText } from '../actor-text.ts';
import {
  CREDENTIALS_TOPIC,
  conversationTopic,
  presenceTopic,
  USERS_TOPIC,
} from '../changes/change-topics.ts';
import { type Change, PROFILE_FIELDS, STATUS_EVENTS } from '../changes/changes.ts';
import { storedParts } from '../changes/stored-changes.ts';
import { CHANGE_EPOCH } from '../new-epoch.ts';
import {
  CHANGES_READ_MAX_BYTES,
  type ChangeReading,
  type ChangeRecord,
  type ChangeStore,
  EXTENT_PROJECTS_MAX,
  REMOVED_AT_ONCE,
} from '../ports/changes.ts';
import type { WriteContext } from '../write-context.ts';
import { type Call, planEachTime, type Row } from './connections/postgres-connection.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { textArray } from './postgres-text.ts';

/** Most projects of which one step removes expired records. */
const PROJECTS_AT_ONCE = 50;

/** Records that one pass gives positions to, and the rest of the last one's write. */
const ORDERED_AT_ONCE = 1_000;

/** Some records, which `select` gives, beside the state of the project's record. */
const reading = (select: string) => `
  SELECT state.epoch, state.newest, state.oldest, state.project_exists, found.position, found.at, found.actor, found.request_id, found.changes
  FROM (
    SELECT (SELECT encode(value, 'hex') FROM store_secrets WHERE name = '${CHANGE_EPOCH}') AS epoch,
      coalesce((SELECT position FROM change_heads WHERE project_id = $1), 0) AS newest, (
      SELECT position FROM changes WHERE project_id = $1 ORDER BY position LIMIT 1) AS oldest,
      EXISTS (SELECT 1 FROM projects WHERE project_id = $1) AS project_exists) AS state
  LEFT JOIN (
    SELECT r.*, sum(octet_length(r.changes)) OVER (ORDER BY r.position) - octet_length(r.changes) AS bytes_before
    FROM (${select}) AS r) AS found
    ON found.bytes_before <= ${CHANGES_READ_MAX_BYTES}
  ORDER BY found.position`;

/** The records after the position $2. */
const READ = reading(`
  SELECT position, at, actor, request_id, changes FROM changes
  WHERE project_id = $1 AND position > $2 ORDER BY position LIMIT $3::bigint`);

/** The same of the topics $4: one lookup in an index for each. */
const READ_TOPICS = reading(`
  SELECT c.* FROM unnest($4::text[]) AS t(topic) CROSS JOIN LATERAL (
    SELECT position, at, actor, request_id, changes FROM changes
    WHERE project_id = $1 AND topic = t.topic AND position > $2 ORDER BY position LIMIT $3::bigint) AS c
  ORDER BY c.position LIMIT $3::bigint`);

const INSERT = 'INSERT INTO written_changes (project_id, at, actor, request_id, changes)';
const RECORD = `${INSERT} VALUES ($1, $2, $3, $4, $5::text[])`;

const HAS_TO_ORDER = 'EXISTS (SELECT 1 FROM written_changes)';

/** Matches a text with a change of a name or picture: `changesProfile`. */
const CHANGES_PROFILE = `"type":"user\\.updated","user":"([^"\\\\]|\\\\.)*","fields":\\[[^]]*"(${PROFILE_FIELDS.join('|')})"`;

/** A type and the group beside it, in the text of changes: what has the topic of the group's presence. */
const OF_PRESENCE =
  '"type":"(?:member\\.removed|durable_presence\\.[a-z]+|group\\.(?:deactivated|activated|removed))","group":"(?:[^"\\\\]|\\\\.)*"';

/** The texts of records of credentials: such a change is the only one of its write. */
const OF_CREDENTIALS = ['project.secret_rotated', 'access_token.revoked']
  .map((type) => `'${JSON.stringify([{ type }])}'`)
  .join(', ');

/**
 * The topic of a record with the text: see change-topics.ts. In JSON, `":"` is never within a string. A regular expression takes
 * longer than the rest of a record's part of a pass, so most texts without a topic are found without one.
 */
const topicOfText = (text: string) => `
  CASE
    WHEN ${text} LIKE '[{"type":"thread.%' OR ${text} LIKE '[{"type":"message.%'
      THEN '${conversationTopic('')}' || (${text}::json #>> '{0,group}')
    WHEN strpos(${text}, '"type":"user.') > 0
      AND (${text} ~ '"type":"user\\.(?:deactivated|activated|removed)"' OR ${text} ~ '${CHANGES_PROFILE}')
      THEN '${USERS_TOPIC}'
    WHEN ${text} IN (${OF_CREDENTIALS}) THEN '${CREDENTIALS_TOPIC}'
    WHEN strpos(${text}, 'activated"') = 0 AND strpos(${text}, '.removed"') = 0 AND strpos(${text}, '"durable_presence.') = 0
      THEN NULL
    ELSE '${presenceTopic('')}' || (('{' || substring(${text} from '${OF_PRESENCE}') || '}')::json ->> 'group')
  END`;

/** Waits until no other pass is under way, so that the passes of this transaction are made. */
const LOCK_ORDER = 'SELECT 1 FROM change_order WHERE id = 1 FOR UPDATE';

/**
 * A pass: moves what is visible now, in the order of its writing, to the next positions of its projects. When another
 * pass commits after the snapshot of this one, its rows are deleted: this pass skips them, and continues from the newest
 * position. (Columns: whether there may be more; a project and its newest position.)
 */
const ORDER = `
  WITH locked AS MATERIALIZED (
    SELECT id FROM change_order WHERE id = 1 AND ${HAS_TO_ORDER} FOR UPDATE SKIP LOCKED),
  found AS MATERIALIZED (
    SELECT position, sum(cardinality(changes)) OVER (ORDER BY position) AS parts FROM (
      SELECT position, changes FROM written_changes WHERE EXISTS (SELECT 1 FROM locked)
      ORDER BY position LIMIT ${ORDERED_AT_ONCE}) AS r),
  until AS MATERIALIZED (
    SELECT coalesce(min(position) FILTER (WHERE parts >= ${ORDERED_AT_ONCE}), max(position)) AS position FROM found),
  taken AS (
    DELETE FROM written_changes WHERE position <= (SELECT position FROM until)
    RETURNING project_id, position, at, actor, request_id, changes),
  numbered AS (
    SELECT project_id, at, actor, request_id, each.text,
      row_number() OVER (PARTITION BY project_id ORDER BY position, each.part) AS number
    FROM taken CROSS JOIN LATERAL unnest(changes) WITH ORDINALITY AS each(text, part)),
  added AS (SELECT project_id, max(number) AS rows FROM numbered GROUP BY project_id),
  heads AS (
    INSERT INTO change_heads (project_id, position) SELECT project_id, rows FROM added
    ON CONFLICT (project_id) DO UPDATE SET position = change_heads.position + excluded.position
    RETURNING project_id, position),
  before AS MATERIALIZED (
    SELECT heads.project_id, heads.position - added.rows AS position
    FROM heads JOIN added ON added.project_id = heads.project_id),
  ordered AS (
    INSERT INTO changes (project_id, position, at, actor, request_id, changes, topic)
    SELECT n.project_id, before.position + n.number, n.at, n.actor, n.request_id, n.text, ${topicOfText('n.text')}
    FROM before JOIN numbered AS n ON n.project_id = before.project_id)
  SELECT CASE WHEN EXISTS (SELECT 1 FROM locked) THEN (SELECT max(parts) >= ${ORDERED_AT_ONCE} FROM found) ELSE ${HAS_TO_ORDER} END,
    heads.project_id, heads.position
  FROM (SELECT 1) AS one LEFT JOIN heads ON TRUE`;

/** How many passes {@link orderedAround} makes for what was written before. */
const PASSES_BEFORE = 3;

/**
 * Calls with passes around them: all that was committed before has a position when they run, up to some 3,000 records, and what they
 * record has one after them. To be sent as one round trip with the commit, because all other passes wait for it.
 */
export const orderedAround = (...calls: readonly Call[]): Call[] => [
  [LOCK_ORDER],
  ...Array.from({ length: PASSES_BEFORE }, (): Call => [ORDER]),
  ...calls,
  [ORDER],
];

/** Removes the oldest records of the projects whose oldest record is of before the time $1. */
const REMOVE_BEFORE = planEachTime(`
  WITH expired AS (
    SELECT p.project_id FROM projects p CROSS JOIN LATERAL (
      SELECT c.at FROM changes c WHERE c.project_id = p.project_id ORDER BY c.position LIMIT 1) AS oldest
    WHERE oldest.at < $1 LIMIT ${PROJECTS_AT_ONCE}),
  old AS (
    SELECT expired.project_id, found.last FROM expired CROSS JOIN LATERAL (
      SELECT max(r.position) AS last FROM (
        SELECT c.position, c.at FROM changes c
        WHERE c.project_id = expired.project_id ORDER BY c.position LIMIT ${REMOVED_AT_ONCE}) AS r
      WHERE r.at < $1) AS found),
  gone AS (
    DELETE FROM changes c USING old
    WHERE c.project_id = old.project_id AND c.position <= old.last RETURNING 1)
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
    ${INSERT}
    SELECT $1, $${first}::bigint, $${first + 1}::text, $${first + 2}::text, ARRAY[made.text] FROM (${select}) AS made(text) WHERE made.text <> '[]')`;

/** The same of several writes: `select` gives the origin and the parts of each, in their order. */
export const recordedParts = (select: string) => `
  recorded AS (
    ${INSERT}
    SELECT $1, made.at, made.actor, made.request_id, made.texts FROM (${select}) AS made(at, actor, request_id, texts))`;

/** The parts in which changes are recorded, as an array of texts. */
const partsOf = (changes: readonly Change[]): string =>
  textArray(storedParts(changes).map(({ text }) => text));

/** The calls that record changes in a transaction. Single statements record their own changes. */
export function recordCalls(project: ProjectKey, changes: readonly Change[], context: WriteContext): Call[] {
  return changes.length === 0 ? [] : [[RECORD, project, ...originOf(context), partsOf(changes)]];
}

const STATUS_EVENT = `CASE t.status ${Object.entries(STATUS_EVENTS)
  .map(([status, event]) => `WHEN '${status}' THEN '${event}'`)
  .join(' ')} END`;

/** Changes that are known before the statement runs, as the text to record. */
export const textOfChanges = (changes: readonly Change[]): string => storedParts(changes)[0]?.text ?? '[]';

/** The changes that a statement has recorded. */
export const parseChanges = (text: unknown): Change[] => (text === null ? [] : JSON.parse(text as string));

/**
 * SQL of a JSON array: the changes of the resource with the ID `idSql`, whose row was `before` and is `t` now. It is
 * `resourceChanges` for a statement that records what it changes.
 */
export function updateChanges(resource: 'user' | 'group', columns: readonly string[], idSql = '$2'): string {
  const differs = (column: string) => `before.${column} IS DISTINCT FROM t.${column}`;
  const named = columns.map((column) => `CASE WHEN ${differs(column)} THEN '"${column}"' END`).join(', ');
  const id = `'","${resource}":' || to_json(${idSql}::text)::text`;
  return `'[' || concat_ws(',',
    CASE WHEN ${columns.map(differs).join(' OR ')} THEN
      '{"type":"${resource}.updated' || ${id} || ',"fields":[' || concat_ws(',', ${named}) || ']}' END,
    CASE WHEN before.status <> t.status THEN
      '{"type":"${resource}.' || ${STATUS_EVENT} || ${id} || '}' END) || ']'`;
}

/**
 * The rows as the server's statistics have them, up to a second late, and the oldest one of some projects. A row that a pass has not
 * ordered yet counts too.
 */
const EXTENT = planEachTime(`
  SELECT (SELECT coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables
      WHERE relid IN ('changes'::regclass, 'written_changes'::regclass)),
    (SELECT min(oldest.at) FROM (SELECT project_id FROM projects LIMIT ${EXTENT_PROJECTS_MAX}) AS p
      CROSS JOIN LATERAL (
        SELECT c.at FROM changes c WHERE c.project_id = p.project_id ORDER BY c.position LIMIT 1) AS oldest)`);

export function changeStore({ database }: PostgresEngine): ChangeStore {
  return {
    async read(project, after, limit) {
      return toReading(project, await database.read(READ, project, after, limit));
    },
    async readTopics(project, topics, after, limit) {
      return toReading(project, await database.read(READ_TOPICS, project, after, limit, textArray(topics)));
    },
    async order() {
      // A transaction, because it may be repeated with more time. One round trip: a process that is paused retains no lock.
      const [rows = []] = await database.transaction({}, (transaction) => transaction.commit([[ORDER]]));
      return {
        newest: rows
          .filter(([, project]) => project !== null)
          .map(([, project, position]) => [project as string, position as number]),
        hasMore: rows[0]?.[0] === true,
      };
    },
    async extent() {
      const [row] = await database.read(EXTENT);
      return { records: Number(row?.[0]), oldestAt: row?.[1] == null ? null : Number(row[1]) };
    },
    async removeBefore(time) {
      const [row] = await database.write(REMOVE_BEFORE, time);
      return Number(row?.[0]) > 0;
    },
  };
}

function toReading(project: ProjectKey, rows: readonly Row[]): ChangeReading {
  const [epoch, newest, oldest, projectExists] = rows[0] as [string | null, number, number | null, boolean];
  return {
    // The key is random, and a project has another one in every store but a copy of the database, which `beginEpoch` distinguishes.
    epoch: `${epoch ?? ''}${String(project).replaceAll('-', '')}`,
    newest,
    projectExists,
    removedTo: oldest === null ? newest : oldest - 1,
    records: rows.filter((row) => row[4] !== null).map(toRecord),
  };
}

const toRecord = ([, , , , position, at, actor, requestId, changes]: Row): ChangeRecord => ({
  position: position as number,
  at: at as number,
  actor: actorOf(actor as string),
  requestId: requestId as string | null,
  changes: parseChanges(changes),
});
