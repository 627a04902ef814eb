/**
 * Writes of one row: each is one statement, which also records what it changed. $1 is the project everywhere, $2 the ID.
 */
import { ProjectGoneError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Change } from '../changes/changes.ts';
import {
  type Absent,
  type AlreadyExists,
  type Stale,
  UNCHANGED,
  type Updated,
  type Written,
} from '../outcomes.ts';
import { type Precondition, preconditionFailure, type Revision } from '../precondition.ts';
import type { Call, Row } from './connections/postgres-connection.ts';
import type { Attempt, WriteTarget } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { parseChanges, recorded } from './postgres-changes.ts';
import { textArray } from './postgres-text.ts';

/** A row whose writes are applied one after the other: of a thread also those of its messages. */
export const targetOf = (
  kind: 'user' | 'group' | 'thread',
  project: ProjectKey,
  id: string,
): WriteTarget => ({
  project,
  row: `${kind} ${id}`,
});

/** An SQL condition: the project is still there. */
export const ALIVE = 'EXISTS (SELECT 1 FROM projects WHERE project_id = $1)';
export const IS_ALIVE = `SELECT ${ALIVE}`;

/** @throws ProjectGoneError where a statement found no such project */
export function assertAlive(alive: unknown): void {
  if (alive !== true) throw new ProjectGoneError();
}

/** The expressions of a precondition: revisions, revisions, a boolean. */
type PreconditionSql = readonly [ifMatch: string, ifNoneMatch: string, mayExist: string];

/** The expressions of a precondition that is in three parameters from `first` on. */
export const preconditionFrom = (first: number): PreconditionSql => [
  `$${first}`,
  `$${first + 1}`,
  `$${first + 2}`,
];

/** An SQL condition: the row `before` meets the precondition. */
export const meetsPrecondition = ([ifMatch, ifNoneMatch, mayExist]: PreconditionSql) =>
  `(${ifMatch}::text[] IS NULL OR before.revision = ANY(${ifMatch}::text[]))
   AND (${ifNoneMatch}::text[] IS NULL OR before.revision <> ALL(${ifNoneMatch}::text[])) AND ${mayExist}::boolean`;

/** The values of the expressions of {@link meetsPrecondition}. */
export function preconditionValues({
  ifMatch,
  ifNoneMatch,
}: Precondition): [string | null, string | null, boolean] {
  const list = (revisions: '*' | readonly Revision[] | undefined) =>
    revisions === undefined || revisions === '*' ? null : textArray(revisions);
  return [list(ifMatch), list(ifNoneMatch), ifNoneMatch !== '*'];
}

interface Update {
  readonly table: 'users' | 'groups';
  /** The columns that are read before, beside the revision. */
  readonly columns: readonly string[];
  readonly lock: 'FOR UPDATE' | 'FOR NO KEY UPDATE';
  /** The assignments to the row `t`, and the condition for them: `before` has the columns as they were. */
  readonly set: string;
  readonly condition: string;
  /** An expression: the changes, as the text of a JSON array. */
  readonly changes: string;
  /** The first of the three parameters of the origin. */
  readonly originFrom: number;
}

interface RowUpdate {
  readonly lock: string;
  /** Locks the row, and updates it where the condition is true. */
  readonly update: string;
}

export const rowUpdate = (update: Update): RowUpdate => ({
  lock: `SELECT 1 FROM ${update.table} WHERE project_id = $1 AND id = $2 ${update.lock}`,
  update: updateSql(update),
});

const updateSql = ({ table, columns, lock, set, condition, changes, originFrom }: Update) => `
  WITH before AS (
    SELECT ${columns.join(', ')}, revision FROM ${table} WHERE project_id = $1 AND id = $2 AND ${ALIVE} ${lock}),
  changed AS (
    UPDATE ${table} t SET ${set} FROM before WHERE t.project_id = $1 AND t.id = $2 AND ${condition}
    RETURNING ${changes} AS changes),
  ${recorded('SELECT changes FROM changed', originFrom)}
  SELECT ${ALIVE}, before.revision, (SELECT changes FROM changed)
  FROM (SELECT 1) one LEFT JOIN before ON TRUE`;

type UpdateParameters = readonly [project: ProjectKey, id: string, ...others: unknown[]];

/** Updates a row that has to be there. @throws ProjectGoneError */
export async function updateRow(
  attempt: Attempt,
  update: RowUpdate,
  parameters: UpdateParameters,
): Promise<Updated | Absent> {
  const { revision, outcome } = await tryUpdate(attempt, update, parameters);
  return revision === null ? { kind: 'absent' } : outcome;
}

/** How a row is created that is not there. */
interface Creation {
  /** Answers whether the project is there, and whether the row was created. */
  readonly call: Call;
  readonly changes: readonly Change[];
}

/**
 * Updates a row, or creates it: one statement where it is there, two where it is created. Where it cannot be created,
 * `creation` is the outcome of that. @throws ProjectGoneError
 */
export async function putRow<Failure extends { readonly kind: string }>(
  attempt: Attempt,
  [update, parameters]: readonly [RowUpdate, UpdateParameters],
  creation: Creation | Failure,
  precondition: Precondition,
): Promise<Written | AlreadyExists | Stale | Failure> {
  const { revision, outcome } = await tryUpdate(attempt, update, parameters);
  const failure = preconditionFailure(precondition, revision);
  if (failure !== null) return failure;
  if (revision !== null) return outcome;
  if ('kind' in creation) return creation;
  const [[alive, isCreated]] = (await attempt.run(...creation.call)) as [Row];
  assertAlive(alive);
  if (isCreated !== true) throw new LostRaceError('the row was created meanwhile');
  return { kind: 'created', changes: creation.changes };
}

/** The revision before is null where the row is not there. */
async function tryUpdate(
  attempt: Attempt,
  { lock, update }: RowUpdate,
  parameters: UpdateParameters,
): Promise<{ revision: Revision | null; outcome: Updated }> {
  const [project, id] = parameters;
  const [[alive, revision, text]] = (await attempt.runOnRow(
    [lock, project, id],
    [update, ...parameters],
  )) as [Row];
  assertAlive(alive);
  const changes = parseChanges(text);
  return {
    revision: revision as Revision | null,
    outcome: changes.length === 0 ? UNCHANGED : { kind: 'updated', changes },
  };
}

/** Locks a row: (whether the project is there, and the revision). */
const lockRow = (table: 'users' | 'groups') => `
  WITH found AS (
    SELECT revision FROM ${table} WHERE project_id = $1 AND id = $2 FOR UPDATE)
  SELECT ${ALIVE}, found.revision FROM (SELECT 1) one LEFT JOIN found ON TRUE`;

export const LOCK_GROUP = lockRow('groups');
export const LOCK_USER = lockRow('users');

/** The revision of what was locked; null where it is not there. @throws ProjectGoneError */
export function lockedRevision([alive, revision]: Row): string | null {
  assertAlive(alive);
  return revision as string | null;
}

export const idsOf = (rows: readonly Row[]): string[] => rows.map(([id]) => id as string);
