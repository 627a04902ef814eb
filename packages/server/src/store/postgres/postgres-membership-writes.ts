import { limits, type Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import { type Change, membershipChanges, resourceChanges } from '../changes.ts';
import {
  type Absent,
  type AlreadyExists,
  type Stale,
  UNCHANGED,
  type UnknownUsers,
  type Written,
} from '../outcomes.ts';
import type { StoredGroupWrite } from '../ports/groups.ts';
import { preconditionFailure } from '../precondition.ts';
import type { ConditionalContext, WriteContext } from '../write-context.ts';
import { type Call, planEachTime, type Row } from './connections/postgres-connection.ts';
import type { Attempt } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { originOf, partsOf, recordedParts } from './postgres-changes.ts';
import { listIn } from './postgres-lists.ts';
import { ofUser, ofUsers, PAIRS_AT_ONCE, removePresence } from './postgres-member-lists.ts';
import { ALIVE, LOCK_GROUP, lockedRevision } from './postgres-row-writes.ts';
import { textArray } from './postgres-text.ts';

/** Creates the group, with all its members, where it is not there: another transaction that creates it waits for this one. */
const CREATE = `
  INSERT INTO groups (project_id, id, name, status, metadata, revision, member_count)
  SELECT $1, $2, $3, coalesce($4::text, 'active'), coalesce($5::text, '{}'), $6, $7 WHERE ${ALIVE}
  ON CONFLICT (project_id, id) DO NOTHING RETURNING 1`;

/** Whether the user `id` is a member: one index lookup, whatever the planner believes of the sizes. */
const isMember = (id: string) =>
  `(SELECT 1 FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = ${id}) IS NOT NULL`;

/**
 * Of the users $3: those who are not members yet, how many of them do not exist, the first of those. Locks them one by one
 * in ascending order, so that none is deleted before they are members. The last column has the members who leave, which `leaving`
 * selects.
 */
const readMembers = (leaving: string) => `
  WITH locked AS MATERIALIZED (
    SELECT named.id, named.position, existing.id IS NOT NULL AS is_known FROM (
      SELECT w.id, w.position FROM ${listIn('$3')} WITH ORDINALITY AS w(id, position)
      WHERE NOT ${isMember('w.id')} ORDER BY w.id COLLATE "C") AS named
    LEFT JOIN LATERAL (
      SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id = named.id FOR KEY SHARE) AS existing ON TRUE)
  SELECT array_to_json(ARRAY(SELECT id FROM locked ORDER BY position)),
    (SELECT count(*) FROM locked WHERE NOT is_known),
    array_to_json(ARRAY(SELECT id FROM locked WHERE NOT is_known ORDER BY position LIMIT ${limits.PROBLEMS_NAMED})),
    array_to_json(ARRAY(${leaving}))`;

/** The members who are not in the list leave. */
const READ_AND_OTHERS = readMembers(`
  SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = $2
  EXCEPT SELECT unnest($3::text[])`);

/** Those of the list $4 who are members leave. */
const READ_AND_LISTED = readMembers(`
  SELECT w.id FROM ${listIn('$4')} AS w(id) WHERE ${isMember('w.id')} ORDER BY w.id COLLATE "C"`);

/**
 * Writes the group, which the transaction has locked or made: its fields, the number of its members, which grows by $7 (null: the row
 * stays as it is), without the members $8, with the users $9, none of whom is a member, and the record of the changes.
 */
const writeSql = (removal: string) => `
  WITH updated AS (
    UPDATE groups SET name = coalesce($3::text, name), status = coalesce($4::text, status),
      metadata = coalesce($5::text, metadata), revision = $6, member_count = member_count + $7::bigint
    WHERE project_id = $1 AND id = $2 AND $7::bigint IS NOT NULL),
  gone AS (DELETE FROM ${removal}),
  added AS (
    INSERT INTO memberships (project_id, group_id, user_id)
    SELECT $1, $2, w.id FROM unnest($9::text[]) AS w(id) ORDER BY w.id COLLATE "C"),
  ${recordedParts(10)}
  SELECT 1`;

/** What a write removes where users leave, and where at most one leaves. */
const REMOVAL = {
  ofMany: {
    write: planEachTime(writeSql(ofUsers('memberships', '$8'))),
    presence: planEachTime(removePresence((table) => ofUsers(table, '$3'))),
  },
  /** The key is known, so the plans are stored: planning takes longer than running. */
  ofOne: {
    write: writeSql(ofUser('memberships', '$8')),
    presence: removePresence((table) => ofUser(table, '$3')),
  },
};

type GroupFields = Pick<StoredGroupWrite, 'name' | 'status' | 'metadata'>;

/** A write of a group with lists of members. */
interface MembersWrite {
  readonly fields: GroupFields;
  readonly add: readonly string[];
  readonly remove: readonly string[] | 'all others';
}

/** Two round trips: the first changes nothing, but creates a group that is new. `absent` where it has no name for that. */
export function writeMembers(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { fields, add, remove }: MembersWrite,
  context: ConditionalContext,
): Promise<Written | AlreadyExists | Stale | UnknownUsers | Absent> {
  const members = new Set(add);
  const wanted = textArray(members);
  const columns = [fields.name ?? null, fields.status ?? null, fields.metadata ?? null, context.revision];
  // A group that this write must find is not created.
  const mayCreate = fields.name !== undefined && context.ifMatch === undefined;
  const create: Call[] = mayCreate ? [[CREATE, project, id, ...columns, members.size]] : [];
  return attempt.transaction(async (transaction) => {
    const answers = await transaction.run(
      ...create,
      [LOCK_GROUP, project, id],
      remove === 'all others'
        ? [READ_AND_OTHERS, project, id, wanted]
        : [READ_AND_LISTED, project, id, wanted, textArray(new Set(remove))],
    );
    const [[found], [members]] = answers.slice(create.length) as [[Row], [Row]];
    const isCreated = mayCreate && answers[0]?.length === 1;
    const before = lockedRevision(found);
    if (before === null && fields.name === undefined)
      return { kind: context.ifMatch === undefined ? 'absent' : 'stale' };
    const [added, count, ids, removed] = members as unknown as readonly [
      string[],
      number,
      string[],
      string[],
    ];
    if (count > 0) return { kind: 'unknownUsers', users: { count, ids } };
    const failure = preconditionFailure(context, isCreated ? null : before);
    if (failure !== null) return failure;
    if (before === null) throw new LostRaceError('the group was deleted meanwhile');
    const changes = [
      ...changesOfFields(id, isCreated ? null : found, fields),
      ...membershipChanges(id, added, removed),
    ];
    if (changes.length === 0) return UNCHANGED;
    const growth = isCreated ? null : added.length - removed.length;
    await transaction.commit(writes({ project, id, columns, growth, added, removed, changes, context }));
    return { kind: isCreated ? 'created' : 'updated', changes };
  });
}

interface FoundWrite {
  readonly project: ProjectKey;
  readonly id: string;
  readonly columns: readonly unknown[];
  readonly growth: number | null;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changes: readonly Change[];
  readonly context: WriteContext;
}

/**
 * The calls that write: one, unless very many members change. Durable presence is removed afterwards: a write of presence locks the
 * membership until it commits, so only a statement that begins when the membership is gone sees all of it.
 */
function* writes(found: FoundWrite): Generator<Call> {
  const { project, id, columns, added, removed, context } = found;
  for (let from = 0; from === 0 || from < Math.max(added.length, removed.length); from += PAIRS_AT_ONCE) {
    const pieceOf = (users: readonly string[]) => textArray(users.slice(from, from + PAIRS_AT_ONCE));
    const [left, joined] = [pieceOf(removed), pieceOf(added)];
    const { write, presence } = removed.length > 1 ? REMOVAL.ofMany : REMOVAL.ofOne;
    const [growth, changes] = from === 0 ? [found.growth, found.changes] : [null, []];
    yield [write, project, id, ...columns, growth, left, joined, ...originOf(context), partsOf(changes)];
    if (from < removed.length) yield [presence, project, id, left];
  }
}

/** `found` is a row of {@link LOCK_GROUP}; null where the group was created. */
function changesOfFields(id: string, found: Row | null, write: GroupFields): Change[] {
  if (found === null) return resourceChanges('group', id, null, write.status ?? 'active', []);
  const [, , status, name, metadata] = found;
  const before = { name, metadata };
  const fields = (['name', 'metadata'] as const).filter(
    (field) => write[field] !== undefined && write[field] !== before[field],
  );
  return resourceChanges('group', id, status as Status, write.status ?? (status as Status), fields);
}
