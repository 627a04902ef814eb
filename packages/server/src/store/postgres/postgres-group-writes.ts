/** Writes of a group that may have lists of members: on the main thread, and the large ones on a thread of their own. */

import type { ProjectKey } from '../../values/project-key.ts';
import { resourceChanges } from '../changes.ts';
import type { Absent, Updated } from '../outcomes.ts';
import { unpackIds } from '../packed-ids.ts';
import type { NameRequired, PutGroupOutcome, StoredGroupWrite } from '../ports/groups.ts';
import type { ChangeMembersOutcome, MembershipChange } from '../ports/members.ts';
import type { ConditionalContext, WriteContext } from '../write-context.ts';
import type { Call } from './connections/postgres-connection.ts';
import type { Attempt, PostgresDatabase, WriteTarget } from './connections/postgres-database.ts';
import { originOf, recorded, textOfChanges, updateChanges } from './postgres-changes.ts';
import { changeMembersOf, replaceMembers } from './postgres-membership-writes.ts';
import {
  ALIVE,
  meetsPrecondition,
  preconditionFrom,
  preconditionValues,
  putRow,
  rowUpdate,
  updateRow,
} from './postgres-row-writes.ts';

/** The row of a group: its writes are applied one after the other. */
export const groupRow = (project: ProjectKey, id: string): WriteTarget => ({ project, row: `group ${id}` });

export async function putGroup(
  database: PostgresDatabase,
  project: ProjectKey,
  id: string,
  { members, ...fields }: StoredGroupWrite,
  context: ConditionalContext,
): Promise<PutGroupOutcome> {
  const target = groupRow(project, id);
  if (members === undefined)
    return database.operation((attempt) => putGroupFields(attempt, project, id, fields, context), target);
  const write = { ...fields, members: unpackIds(members) };
  const outcome = await database.operation(
    (attempt) => replaceMembers(attempt, project, id, write, context),
    target,
  );
  return outcome.kind === 'absent' ? { kind: 'nameRequired' } : outcome;
}

export async function changeMembers(
  database: PostgresDatabase,
  project: ProjectKey,
  id: string,
  change: MembershipChange,
  context: ConditionalContext,
): Promise<ChangeMembersOutcome> {
  const lists = { add: unpackIds(change.add), remove: unpackIds(change.remove) };
  const outcome = await database.operation(
    (attempt) => changeMembersOf(attempt, project, id, lists, context),
    groupRow(project, id),
  );
  return outcome.kind === 'exists' ? { kind: 'stale' } : outcome;
}

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

function putGroupFields(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { name, status, metadata }: StoredGroupWrite,
  context: ConditionalContext,
): Promise<PutGroupOutcome> {
  const row = [project, id, name ?? null, status ?? null, metadata ?? null, context.revision] as const;
  const origin = originOf(context);
  const update = [UPDATE, [...row, ...preconditionValues(context), ...origin]] as const;
  const changes = resourceChanges('group', id, null, status ?? 'active', []);
  const call: Call = [INSERT, ...row, ...origin, textOfChanges(changes)];
  const creation = name === undefined ? ({ kind: 'nameRequired' } as const) : { call, changes };
  return putRow<NameRequired>(attempt, update, creation, context);
}

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

export function connectGroup(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  workspace: string | null,
  context: WriteContext,
): Promise<Updated | Absent> {
  const change = textOfChanges([{ type: 'group.updated', group: id, fields: ['connectedToMessenger'] }]);
  const parameters = [workspace, context.revision, ...originOf(context), change];
  return updateRow(attempt, CONNECT, [project, id, ...parameters]);
}
