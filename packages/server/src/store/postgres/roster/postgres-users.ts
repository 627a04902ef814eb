import type { TotalPage } from '../../../values/page.ts';
import { resourceChanges } from '../../changes/changes.ts';
import { columnsOf } from '../../columns.ts';
import type { UserRecord, UserStore } from '../../ports/users.ts';
import { USER_COLUMNS, WRITTEN_FIELDS } from '../../roster-columns.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import { originOf, recorded, textOfChanges, updateChanges } from '../postgres-changes.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { byIdsSql, pageSql, toEndlessPage, toPage } from '../postgres-pages.ts';
import {
  ALIVE,
  meetsPrecondition,
  preconditionFrom,
  preconditionValues,
  putRow,
  rowUpdate,
  targetOf,
} from '../postgres-row-writes.ts';
import { jsonText, jsonTime, textArray } from '../postgres-text.ts';
import { deleteUser } from './postgres-deletions.ts';
import { anyCountSlot, countUsers } from './postgres-user-counts.ts';

/** Most groups of a user who is deleted on the event loop: some milliseconds. */
const GROUPS_AT_ONCE = 2_000;

const USER = columnsOf<UserRecord>(USER_COLUMNS);

const FIND = `SELECT ${USER.sql} FROM users WHERE project_id = $1 AND id = $2`;

/** A user as the API shows it, from the row `page`. */
const ENTRY = `'{"id":' || to_json(page.id)::text || ',"name":' || ${jsonText('page.name')}
    || ',"short_name":' || ${jsonText('page.short_name')} || ',"email":' || ${jsonText('page.email')}
    || ',"profile_picture_url":' || ${jsonText('page.profile_picture_url')}
    || ',"status":"' || page.status || '","metadata":' || page.metadata
    || ',"created_at":' || ${jsonTime('page.created_at')} || ',"updated_at":' || ${jsonTime('page.updated_at')} || '}'`;

const LIST = pageSql({
  rows: 'SELECT * FROM users WHERE project_id = $1 AND id > $2',
  entry: ENTRY,
  limit: '$3',
  total: `(SELECT coalesce(sum(users), 0)::bigint FROM user_counts WHERE project_id = $1)`,
});
const LIST_BY_IDS = byIdsSql('users', ENTRY);

/** The fields in the order of the parameters of every write. */
export const USER_FIELDS = WRITTEN_FIELDS.map((field) => USER_COLUMNS[field]);

/** The fields that `fields` of a change may name: of the status there are changes of its own. */
const NAMED_FIELDS = USER_FIELDS.filter((field) => field !== 'status');

export type UserField = (typeof USER_FIELDS)[number];

type FieldSql = (field: UserField) => string;

/** The value of a field of `row` after a write: NULL leaves it as it is, '' clears it. */
const valueAfter = (row: string, supplied: FieldSql, field: UserField) =>
  `nullif(coalesce(${supplied(field)}, ${row}.${field}), '')`;

/** SQL that sets every field of `row` from what is supplied. */
export const userAssignments = (row: string, supplied: FieldSql): string =>
  USER_FIELDS.map((field) => `${field} = ${valueAfter(row, supplied, field)}`).join(', ');

const DEFAULTS: { readonly [field in UserField]?: string } = { status: `'active'`, metadata: `'{}'` };

/** SQL that inserts users from what is supplied; $9 is now, $10 the revision. */
export const insertUsers = (id: string, supplied: FieldSql): string => `
  INSERT INTO users (project_id, id, ${USER_FIELDS.join(', ')}, created_at, updated_at, revision)
  SELECT $1, ${id}, ${USER_FIELDS.map((field) => `coalesce(nullif(${supplied(field)}, ''), ${DEFAULTS[field] ?? 'NULL'})`).join(', ')},
    $9, $9, $10`;

const parameterOf: FieldSql = (field) => `$${USER_FIELDS.indexOf(field) + 3}::text`;

const UPDATE = rowUpdate({
  table: 'users',
  columns: USER_FIELDS,
  // Although no key changes: a weaker lock shares the row with transactions that lock it for a membership, and two such
  // updates then deadlock.
  lock: 'FOR UPDATE',
  set: `${userAssignments('t', parameterOf)}, updated_at = greatest(t.updated_at, $9), revision = $10`,
  condition: `${meetsPrecondition(preconditionFrom(11))} AND (${USER_FIELDS.map(
    (field) => `before.${field} IS DISTINCT FROM ${valueAfter('before', parameterOf, field)}`,
  ).join(' OR ')})`,
  changes: updateChanges('user', NAMED_FIELDS),
  originFrom: 14,
});

const INSERT = `
  WITH made AS (
    ${insertUsers('$2', parameterOf)} WHERE ${ALIVE}
    ON CONFLICT (project_id, id) DO NOTHING RETURNING 1),
  counted AS (${countUsers('SELECT $1, $11, 1 FROM made')}),
  ${recorded('SELECT $15::text FROM made', 12)}
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM made)`;

export function userStore({ database, largeWrites }: PostgresEngine): UserStore {
  return {
    find: (project, id) => database.readOne(USER.toRecord, FIND, project, id),
    async list(project, { after, limit }) {
      const [row] = await database.read(LIST, project, after ?? '', limit);
      return toPage(row as Row) as TotalPage;
    },
    async listByIds(project, ids) {
      const [row] = await database.read(LIST_BY_IDS, project, textArray(ids));
      return toEndlessPage(row as Row);
    },
    put(project, id, write, context) {
      const fields = USER_FIELDS.map((field) => (write[field] === null ? '' : (write[field] ?? null)));
      const row = [project, id, ...fields, context.now, context.revision] as const;
      const origin = originOf(context);
      const changes = resourceChanges('user', id, null, write.status ?? 'active', []);
      const update = [UPDATE, [...row, ...preconditionValues(context), ...origin]] as const;
      const call: Call = [INSERT, ...row, anyCountSlot(), ...origin, textOfChanges(changes)];
      return database.operation(targetOf('user', project, id), (attempt) =>
        putRow<never>(attempt, update, { call, changes }, context),
      );
    },
    delete: async (...deletion) =>
      (await deleteUser(database, deletion, GROUPS_AT_ONCE)) ??
      (await largeWrites.apply('deleteUser', ...deletion)),
  };
}
