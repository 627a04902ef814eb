/** Writes of a group that may hold lists of members: on the main thread, and the large ones on a thread of their own. */
import { unpackIds } from '../packed-ids.ts';
import type {
  ChangeMembersOutcome,
  MembershipChange,
  ProjectKey,
  PutGroupOutcome,
  WriteContext,
} from '../store.ts';
import type { StoredGroupWrite } from '../stored-write.ts';
import type { PostgresDatabase, WriteTarget } from './connections/postgres-database.ts';
import { putGroupFields } from './postgres-groups.ts';
import { changeMembers, putGroupMembers, sizeOf } from './postgres-membership-writes.ts';

/** The row of a group: its writes are applied one after the other. */
export const groupRow = (project: ProjectKey, id: string): WriteTarget => ({ project, row: `group ${id}` });

/** Large writes wait for the group's lock instead: few are under way at once, and each may take long. */
const listsRow = (project: ProjectKey, id: string, ...lists: readonly (readonly string[])[]): WriteTarget =>
  sizeOf(...lists) === 'large' ? { project } : groupRow(project, id);

export function putGroup(
  database: PostgresDatabase,
  project: ProjectKey,
  id: string,
  { members: list, ...fields }: StoredGroupWrite,
  context: WriteContext,
): Promise<PutGroupOutcome> {
  if (list === undefined) {
    return database.operation(
      (attempt) => putGroupFields(attempt, project, id, fields, context),
      groupRow(project, id),
    );
  }
  const members = unpackIds(list);
  return database.operation(
    (attempt) => putGroupMembers(attempt, project, id, { ...fields, members }, context),
    listsRow(project, id, members),
  );
}

export function changeGroupMembers(
  database: PostgresDatabase,
  project: ProjectKey,
  id: string,
  change: MembershipChange,
  context: WriteContext,
): Promise<ChangeMembersOutcome> {
  const [add, remove] = [unpackIds(change.add), unpackIds(change.remove)];
  return database.operation(
    (attempt) => changeMembers(attempt, project, id, { add, remove }, context),
    listsRow(project, id, add, remove),
  );
}
