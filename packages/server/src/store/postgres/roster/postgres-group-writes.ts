/** Writes of a group that may have lists of members: on the main thread, and the large ones on a thread of their own. */

import { resourceChanges } from '../../changes/changes.ts';
import type { GroupStore, NameRequired } from '../../ports/groups.ts';
import type { MemberStore } from '../../ports/members.ts';
import { unpackIds } from '../../worker-threads/packed-ids.ts';
import type { Call } from '../connections/postgres-connection.ts';
import type { OnDatabase } from '../connections/postgres-database.ts';
import { originOf, recorded, textOfChanges, updateChanges } from '../postgres-changes.ts';
import {
  ALIVE,
  meetsPrecondition,
  preconditionFrom,
  preconditionValues,
  putRow,
  rowUpdate,
  targetOf,
  updateRow,
} from '../postgres-row-writes.ts';
import { changeMembersOf, replaceMembers } from './postgres-membership-writes.ts';

export const putGroup: OnDatabase<GroupStore['put']> = async (database, project, id, write, context) => {
  const { members, ...fields } = write;
  if (members === undefined) return putGroupFields(database, project, id, fields, context);
  const list = unpackIds(members);
  const outcome = await replaceMembers(database, project, id, { ...fields, members: list }, context);
  return outcome.kind === 'absent' ? { kind: 'nameRequired' } : outcome;
};

export const changeMembers: OnDatabase<MemberStore['change']> = async (
  database,
  project,
  id,
  change,
  context,
) => {
  const lists = { add: unpackIds(change.add), remove: unpackIds(change.remove) };
  const outcome = await changeMembersOf(database, project, id, lists, context);
  return outcome.kind === 'exists' ? { kind: 'stale' } : outcome;
};

const UPDATE = rowUpdate({
  table: 'groups',
  columns: ['name', 'status', 'metadata'],
  lock: 'FOR UPDATE',
  set: `name = coalesce($3::text, t.name), status = coalesce($4::text, t.status),
    metadata = coalesce($5::text, t.metadata), revision = $6`,
  condition: `${meetsPrecondition(preconditionFrom(7))}
    AND (before.name <> $3::text OR before.status <> $4::text OR before.metadata <> $5::text)`,
  changes: updateChanges('group', ['name', 'metadata']),
  originFrom: 10,
});

const INSERT = `
  WITH made AS (
    INSERT INTO groups (project_id, id, name, status, metadata, member_count, revision)
    SELECT $1, $2, $3, coalesce($4::text, 'active'), coalesce($5::text, '{}'), 0, $6 WHERE ${ALIVE}
    ON CONFLICT (project_id, id) DO NOTHING RETURNING 1),
  ${recorded('SELECT $10::text FROM made', 7)}
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM made)`;

const putGroupFields: OnDatabase<GroupStore['put']> = (database, project, id, write, context) => {
  const { name, status, metadata } = write;
  const row = [project, id, name ?? null, status ?? null, metadata ?? null, context.revision] as const;
  const origin = originOf(context);
  const update = [UPDATE, [...row, ...preconditionValues(context), ...origin]] as const;
  const changes = resourceChanges('group', id, null, status ?? 'active', []);
  const call: Call = [INSERT, ...row, ...origin, textOfChanges(changes)];
  const creation = name === undefined ? ({ kind: 'nameRequired' } as const) : { call, changes };
  return database.operation(targetOf('group', project, id), (attempt) =>
    putRow<NameRequired>(attempt, update, creation, context),
  );
};

const IS_CHANGE = '(before.workspace IS NULL) <> ($3::text IS NULL)';
const CONNECT = rowUpdate({
  table: 'groups',
  columns: ['workspace'],
  lock: 'FOR NO KEY UPDATE',
  set: `workspace = $3::text, revision = CASE WHEN ${IS_CHANGE} THEN $4 ELSE t.revision END`,
  condition: 'TRUE',
  changes: `CASE WHEN ${IS_CHANGE} THEN $8::text ELSE '[]' END`,
  originFrom: 5,
});

export const connectGroup: OnDatabase<GroupStore['connect']> = (
  database,
  project,
  id,
  workspace,
  context,
) => {
  const change = textOfChanges([{ type: 'group.updated', group: id, fields: ['connectedToMessenger'] }]);
  const parameters = [workspace, context.revision, ...originOf(context), change];
  return database.operation(targetOf('group', project, id), (attempt) =>
    updateRow(attempt, CONNECT, [project, id, ...parameters]),
  );
};
