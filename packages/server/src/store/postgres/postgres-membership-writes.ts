/** Writes that change who belongs to which group. Locks are taken in one order everywhere: groups by ID, users by ID. */
import { limits } from '@rollcall/protocol';
import { departed, NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import type {
  ChangeMembersOutcome,
  ProjectKey,
  PutGroupOutcome,
  UnknownUsers,
  WriteContext,
} from '../store.ts';
import type { StoredGroupWrite } from '../stored-write.ts';
import type { Call, Row } from './connections/postgres-connection.ts';
import type { Attempt, Size } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { LOCK_GROUP, lockedRevision } from './postgres-locks.ts';
import { ALIVE, idsOf, turnedGroup } from './postgres-outcomes.ts';
import { textArray } from './postgres-text.ts';

/** Lists longer than this make a write large. */
const SMALL_LIST = 1_000;

export const sizeOf = (...lists: readonly (readonly string[])[]): Size =>
  lists.some(({ length }) => length > SMALL_LIST) ? 'large' : 'small';

/** Makes the group, with all its members, where it is not there: whoever else makes it waits for this transaction. */
const MAKE = `
  INSERT INTO groups (project_id, id, name, status, metadata, revision, member_count)
  SELECT $1, $2, $3, coalesce($4::text, 'active'), coalesce($5::text, '{}'), $6, $7 WHERE ${ALIVE}
  ON CONFLICT (project_id, id) DO NOTHING RETURNING 1`;

/** Whether the user `id` is a member: a look-up each, whatever the planner believes of the sizes. */
const isMember = (id: string) =>
  `(SELECT 1 FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = ${id}) IS NOT NULL`;

/** Holds the users who would become members, so that none of them is deleted meanwhile. */
const HOLD_USERS = `
  WITH held AS (
    SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id = ANY($3::text[]) AND NOT ${isMember('u.id')}
    ORDER BY u.id FOR KEY SHARE)
  SELECT count(*) FROM held`;

/** Of the users named: how many are not members yet, how many do not exist, the first of those. */
const PLAN_ADDITIONS = `
  WITH fresh AS (
    SELECT w.id, w.place FROM unnest($3::text[]) WITH ORDINALITY AS w(id, place) WHERE NOT ${isMember('w.id')}),
  strangers AS (
    SELECT f.id, f.place FROM fresh f
    WHERE (SELECT 1 FROM users u WHERE u.project_id = $1 AND u.id = f.id) IS NULL)
  SELECT (SELECT count(*) FROM fresh), (SELECT count(*) FROM strangers),
    array_to_json(ARRAY(SELECT id FROM strangers ORDER BY place LIMIT ${limits.PROBLEMS_NAMED}))`;

/** The members who are not in the list. */
const OTHERS = `
  SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = $2
  EXCEPT SELECT unnest($3::text[])`;

/** Those of the list who are members. */
const OF_LIST = `
  SELECT m.user_id FROM memberships m
  WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = ANY($3::text[])
  ORDER BY m.user_id`;

const ADD = `
  INSERT INTO memberships (project_id, group_id, user_id)
  SELECT $1, $2, w.id FROM unnest($3::text[]) AS w(id) ORDER BY w.id COLLATE "C"
  ON CONFLICT (project_id, group_id, user_id) DO NOTHING`;
const REMOVE =
  'DELETE FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id = ANY($3::text[])';
const REMOVE_USAGES =
  'DELETE FROM durable_usage WHERE project_id = $1 AND group_id = $2 AND user_id = ANY($3::text[])';
const REMOVE_PRESENCE =
  'DELETE FROM durable_presence WHERE project_id = $1 AND group_id = $2 AND user_id = ANY($3::text[])';
const REMOVE_PAIRS =
  'DELETE FROM durable_pairs WHERE project_id = $1 AND group_id = $2 AND user_id = ANY($3::text[])';
const UPDATE_GROUP = `
  UPDATE groups SET name = coalesce($3::text, name), status = coalesce($4::text, status),
    metadata = coalesce($5::text, metadata), revision = $6, member_count = member_count + $7
  WHERE project_id = $1 AND id = $2`;

/** A change of a group's members, worked out under its lock before anything is written. */
interface Change {
  /** How many become members. */
  readonly fresh: number;
  readonly removed: readonly string[];
  readonly unknown: UnknownUsers | null;
}

function toChange([plan]: readonly Row[], removed: readonly Row[]): Change {
  const [fresh, strangers, ids] = plan as unknown as readonly [number, number, string[]];
  return {
    fresh,
    removed: idsOf(removed),
    unknown: strangers === 0 ? null : { kind: 'unknownUsers', users: { count: strangers, ids } },
  };
}

/** The statements that carry a change out. */
function changeCalls(project: ProjectKey, id: string, { fresh, removed }: Change, wanted: string): Call[] {
  const calls: Call[] = [];
  if (removed.length > 0) {
    // Presence after memberships: who is being marked present holds their membership until that is written.
    const gone = textArray(removed);
    for (const sql of [REMOVE, REMOVE_USAGES, REMOVE_PRESENCE, REMOVE_PAIRS])
      calls.push([sql, project, id, gone]);
  }
  if (fresh > 0) calls.push([ADD, project, id, wanted]);
  return calls;
}

/** A write with a list of members: two round trips. The first changes nothing, but makes a group that is new. */
export function putGroupMembers(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  write: StoredGroupWrite & { readonly members: readonly string[] },
  context: WriteContext,
): Promise<PutGroupOutcome> {
  const members = new Set(write.members);
  const wanted = textArray(members);
  const fields = [write.name ?? null, write.status ?? null, write.metadata ?? null, context.revision];
  // A group that this write must find is not made.
  const mayMake = write.name !== undefined && context.ifMatch === undefined;
  const make: Call[] = mayMake ? [[MAKE, project, id, ...fields, members.size]] : [];
  return attempt.transaction(sizeOf(write.members), async (transaction) => {
    const answers = await transaction.run(
      ...make,
      [LOCK_GROUP, project, id],
      [HOLD_USERS, project, id, wanted],
      [PLAN_ADDITIONS, project, id, wanted],
      [OTHERS, project, id, wanted],
    );
    const [locked, , plan, others] = answers.slice(make.length) as [Row[], Row[], Row[], Row[]];
    const isMade = mayMake && answers[0]?.length === 1;
    const found = locked[0] as Row;
    const before = lockedRevision(found);
    if (before === null && write.name === undefined) {
      return { kind: context.ifMatch === undefined ? 'nameRequired' : 'stale' };
    }
    const change = toChange(plan, others);
    if (change.unknown !== null) return change.unknown;
    const failure = preconditionFailure(context, isMade ? null : before);
    if (failure !== null) return failure;
    if (before === null) throw new LostRaceError('the group was deleted meanwhile');
    const calls = changeCalls(project, id, change, wanted);
    if (isMade) {
      await transaction.commit(...calls);
      return { kind: 'created', effects: NO_EFFECTS };
    }
    if (calls.length === 0 && !changesFields(found, write)) return { kind: 'unchanged', effects: NO_EFFECTS };
    const growth = change.fresh - change.removed.length;
    await transaction.commit(...calls, [UPDATE_GROUP, project, id, ...fields, growth]);
    const turned = turnedGroup(id, found[2], write.status);
    return { kind: 'updated', effects: { ...turned, departures: departed(id, change.removed).departures } };
  });
}

const changesFields = ([, , status, name, metadata]: Row, write: StoredGroupWrite): boolean =>
  (write.status ?? status) !== status ||
  (write.name ?? name) !== name ||
  (write.metadata ?? metadata) !== metadata;

/** Adds and removes: two round trips. */
export function changeMembers(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
  context: WriteContext,
): Promise<ChangeMembersOutcome> {
  const wanted = textArray(new Set(add));
  return attempt.transaction(sizeOf(add, remove), async (transaction) => {
    const [[locked], , plan, leaving] = await transaction.run(
      [LOCK_GROUP, project, id],
      [HOLD_USERS, project, id, wanted],
      [PLAN_ADDITIONS, project, id, wanted],
      [OF_LIST, project, id, textArray(new Set(remove))],
    );
    const before = lockedRevision(locked as Row);
    if (before === null) return { kind: context.ifMatch === undefined ? 'absent' : 'stale' };
    const change = toChange(plan, leaving);
    if (change.unknown !== null) return change.unknown;
    if (preconditionFailure(context, before) !== null) return { kind: 'stale' };
    const calls = changeCalls(project, id, change, wanted);
    if (calls.length === 0) return { kind: 'unchanged', effects: NO_EFFECTS };
    const growth = change.fresh - change.removed.length;
    await transaction.commit(...calls, [
      UPDATE_GROUP,
      project,
      id,
      null,
      null,
      null,
      context.revision,
      growth,
    ]);
    return { kind: 'updated', effects: departed(id, change.removed) };
  });
}
