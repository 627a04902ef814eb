import type { ProjectKey } from '../../values/project-key.ts';
import { actorOf, actorText } from '../actor-text.ts';
import { type Change, storedTexts } from '../changes.ts';
import type { ChangeStore } from '../ports/changes.ts';
import type { WriteContext } from '../write-context.ts';
import { type Call, planEachTime } from './connections/postgres-connection.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { textArray } from './postgres-text.ts';

/** Most projects of which one step removes expired records, and most records of one project that it removes. */
const PROJECTS_AT_ONCE = 50;
const REMOVED_AT_ONCE = 1_000;

const LIST = `
  SELECT position, at, actor, request_id, changes FROM changes
  WHERE project_id = $1 AND position > $2 ORDER BY position LIMIT $3::bigint`;

const RECORD = `
  INSERT INTO changes (project_id, at, actor, request_id, changes)
  SELECT $1, $2, $3, $4, texts.text FROM unnest($5::text[]) WITH ORDINALITY AS texts(text, position) ORDER BY position`;

/** Removes the oldest records of the projects whose oldest record is of before the time $1. */
const REMOVE_BEFORE = planEachTime(`
  WITH expired AS (
    SELECT p.project_id FROM projects p CROSS JOIN LATERAL (
      SELECT c.at FROM changes c WHERE c.project_id = p.project_id ORDER BY c.position LIMIT 1) AS oldest
    WHERE oldest.at < $1 LIMIT ${PROJECTS_AT_ONCE}),
  old AS (
    SELECT expired.project_id, found.position FROM expired CROSS JOIN LATERAL (
      SELECT c.position, c.at FROM changes c WHERE c.project_id = expired.project_id
      ORDER BY c.position LIMIT ${REMOVED_AT_ONCE}) AS found
    WHERE found.at < $1),
  gone AS (
    DELETE FROM changes c USING old
    WHERE c.project_id = old.project_id AND c.position = old.position RETURNING 1)
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

/** Changes that are known before the statement runs, as the text to record. */
export const textOfChanges = (changes: readonly Change[]): string => storedTexts(changes)[0] ?? '[]';

/** The changes that a statement has recorded. */
export const parseChanges = (text: unknown): Change[] => (text === null ? [] : JSON.parse(text as string));

/** SQL of a JSON array: the changes of the resource with the ID $2, whose row was `before` and is `t` now. */
export function updateChanges(resource: 'user' | 'group', columns: readonly string[]): string {
  const differs = (column: string) => `before.${column} IS DISTINCT FROM t.${column}`;
  const named = columns.map((column) => `CASE WHEN ${differs(column)} THEN '"${column}"' END`).join(', ');
  const id = `'","${resource}":' || to_json($2::text)::text`;
  return `'[' || concat_ws(',',
    CASE WHEN ${columns.map(differs).join(' OR ')} THEN
      '{"type":"${resource}.updated' || ${id} || ',"fields":[' || concat_ws(',', ${named}) || ']}' END,
    CASE WHEN before.status <> t.status THEN
      '{"type":"${resource}.' || CASE t.status WHEN 'deleted' THEN 'deactivated' ELSE 'activated' END
        || ${id} || '}' END) || ']'`;
}

/** Recorded changes (see the port). */
export function changeStore({ database }: PostgresEngine): ChangeStore {
  return {
    async list(project, after, limit) {
      const rows = await database.read(LIST, project, after, limit);
      return rows.map(([position, at, actor, requestId, changes]) => ({
        position: position as number,
        at: at as number,
        actor: actorOf(actor as string),
        requestId: requestId as string | null,
        changes: parseChanges(changes),
      }));
    },
    removeBefore: (time) =>
      database.operation(async (attempt) => {
        const [row] = await attempt.run(REMOVE_BEFORE, time);
        return Number(row?.[0]) > 0;
      }),
  };
}
