import { limits } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { slices } from '../../../values/slices.ts';
import { membershipChanges, resourceChanges, USERS_PER_CHANGE } from '../../changes/changes.ts';
import {
  type Absent,
  type AlreadyExists,
  type Stale,
  UNCHANGED,
  type UnknownUsers,
  type Written,
} from '../../outcomes.ts';
import type { StoredGroupWrite } from '../../ports/groups.ts';
import { preconditionFailure } from '../../precondition.ts';
import type { ConditionalContext } from '../../write-context.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { PostgresDatabase } from '../connections/postgres-database.ts';
import { LostRaceError } from '../connections/postgres-errors.ts';
import { originOf, parseChanges, recordedParts, textOfChanges, updateChanges } from '../postgres-changes.ts';
import { listed, listIn, rowsIn } from '../postgres-lists.ts';
import {
  ALIVE,
  assertAlive,
  LOCK_GROUP,
  meetsPrecondition,
  preconditionValues,
  targetOf,
} from '../postgres-row-writes.ts';
import { arraysOf, textArray } from '../postgres-text.ts';
import { PAIRS_AT_ONCE, removePresence } from './postgres-member-lists.ts';

/** Creates the group, with all its members, where it is not there: another transaction that creates it waits for this one. */
const CREATE = `
  INSERT INTO groups (project_id, id, name, status, metadata, revision, member_count)
  SELECT $1, $2, $3, coalesce($4::text, 'active'), coalesce($5::text, '{}'), $6, $7 WHERE ${ALIVE}
  ON CONFLICT (project_id, id) DO NOTHING RETURNING 1`;

/** The columns of a write of the members of a group, each a parameter from $2 on. */
const COLUMNS = [
  ...['id', 'users', 'leaving', 'name', 'status', 'metadata', 'revision'],
  ...['if_match', 'if_none_match', 'may_exist', 'at', 'actor', 'request_id', 'creation'],
] as const;

/** Whether the user `id` is a member of `group`: one index lookup, whatever the planner believes of the sizes. */
const isMember = (group: string, id: string) =>
  `(SELECT 1 FROM memberships m WHERE m.project_id = $1 AND m.group_id = ${group} AND m.user_id = ${id}) IS NOT NULL`;

/** The revision that the statement sees of a group, locked or not. */
const seen = (id: string) => `(SELECT s.revision FROM groups s WHERE s.project_id = $1 AND s.id = ${id})`;

/** SQL of a query: the changes of the members of a list (number, group_id, id, position), at most {@link USERS_PER_CHANGE} users each. */
const memberChanges = (type: 'member.added' | 'member.removed', list: string, order: number) => `
  SELECT number, ${order} AS list, (position - 1) / ${USERS_PER_CHANGE} AS part,
    '{"type":"${type}","group":' || to_json(group_id)::text || ',"users":['
      || string_agg(to_json(id)::text, ',' ORDER BY position) || ']}' AS text
  FROM (
    SELECT number, group_id, id, row_number() OVER (PARTITION BY number ORDER BY position) AS position FROM ${list}) AS dense
  GROUP BY number, group_id, part`;

/**
 * Writes groups, each where that is allowed: its fields, the users who are not members yet, without the members who leave
 * (`leaving`: IDs and positions, by the group `w`), and the record of the changes. A group that this write has made has its
 * revision; `creation` is the changes of that. A user who becomes a member is locked, one by one in ascending order, so that none
 * is deleted before that. A group is written only as this statement has seen it: not where another transaction has it locked, or
 * has changed it meanwhile. (For each write: the revision that it has seen, the one that it has locked, the new members, how many
 * of the users do not exist, the first of those, the members who leave, the changes of the fields.)
 */
const write = (leaving: string) => `
  WITH writes AS MATERIALIZED (
    SELECT each.* FROM ${rowsIn(COLUMNS)}),
  before AS MATERIALIZED (
    SELECT w.*, locked.revision AS revision_before, locked.name AS name_before, locked.status AS status_before,
      locked.metadata AS metadata_before, locked.revision = w.revision AS is_made
    FROM writes w LEFT JOIN LATERAL (
      SELECT r.revision, r.name, r.status, r.metadata FROM groups AS r
      WHERE r.project_id = $1 AND r.id = w.id AND ${ALIVE} AND r.revision = ${seen('w.id')}
      FOR UPDATE SKIP LOCKED) AS locked ON TRUE),
  named AS MATERIALIZED (
    SELECT named.*, existing.id IS NOT NULL AS is_known FROM (
      SELECT w.number, w.id AS group_id, each.id, each.position
      FROM before w CROSS JOIN LATERAL unnest(w.users::text[]) WITH ORDINALITY AS each(id, position)
      WHERE NOT ${isMember('w.id', 'each.id')} ORDER BY each.id COLLATE "C") AS named
    LEFT JOIN LATERAL (
      SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id = named.id FOR KEY SHARE) AS existing ON TRUE),
  leaving AS MATERIALIZED (
    SELECT w.number, w.id AS group_id, each.id, each.position FROM before w CROSS JOIN LATERAL (${leaving}) AS each(id, position)),
  allowed AS MATERIALIZED (
    SELECT w.*, CASE WHEN w.is_made THEN w.creation ELSE ${updateChanges('group', ['name', 'metadata'], 'w.id')} END AS changes
    FROM before w
      CROSS JOIN LATERAL (
        SELECT w.revision_before AS revision, w.name_before AS name, w.status_before AS status,
          w.metadata_before AS metadata) AS before
      CROSS JOIN LATERAL (
        SELECT coalesce(w.name, before.name) AS name, coalesce(w.status, before.status) AS status,
          coalesce(w.metadata, before.metadata) AS metadata) AS t
    WHERE w.revision_before IS NOT NULL AND (w.is_made OR (${meetsPrecondition(['w.if_match', 'w.if_none_match', 'w.may_exist'])}))
      AND NOT EXISTS (SELECT 1 FROM named WHERE named.number = w.number AND NOT is_known)),
  parts AS MATERIALIZED (
    SELECT number, array_agg(text ORDER BY part) AS texts FROM (
      SELECT number, part, '[' || string_agg(text, ',' ORDER BY list) || ']' AS text FROM (
        SELECT number, 0 AS list, 0 AS part, substr(changes, 2, length(changes) - 2) AS text FROM allowed WHERE changes <> '[]'
        UNION ALL ${memberChanges('member.added', 'named', 1)}
        UNION ALL ${memberChanges('member.removed', 'leaving', 2)}) AS made
      GROUP BY number, part) AS each
    GROUP BY number),
  updated AS (
    UPDATE groups g SET name = coalesce(w.name, g.name), status = coalesce(w.status, g.status),
      metadata = coalesce(w.metadata, g.metadata), revision = w.revision, member_count = g.member_count + w.growth
    FROM ${listed(
      `w.*, (SELECT count(*) FROM named WHERE named.number = w.number)
        - (SELECT count(*) FROM leaving WHERE leaving.number = w.number) AS growth`,
      'allowed w WHERE NOT w.is_made AND EXISTS (SELECT 1 FROM parts WHERE parts.number = w.number)',
    )}
    WHERE g.project_id = w.project_id AND g.id = w.id),
  gone AS (
    DELETE FROM memberships t
    USING ${listed(
      'leaving.*',
      'leaving WHERE number IN (SELECT number FROM allowed) ORDER BY group_id COLLATE "C", id COLLATE "C"',
    )}
    WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.id),
  added AS (
    INSERT INTO memberships (project_id, group_id, user_id)
    SELECT $1, group_id, id FROM named WHERE number IN (SELECT number FROM allowed)
    ORDER BY group_id COLLATE "C", id COLLATE "C"),
  ${recordedParts(`
    SELECT w.at::bigint, w.actor, w.request_id, parts.texts FROM allowed w JOIN parts ON parts.number = w.number ORDER BY w.number`)}
  SELECT ${ALIVE}, ${seen('w.id')}, w.revision_before,
    array_to_json(ARRAY(SELECT id FROM named WHERE named.number = w.number)),
    (SELECT count(*) FROM named WHERE named.number = w.number AND NOT is_known),
    array_to_json(ARRAY(
      SELECT id FROM named WHERE named.number = w.number AND NOT is_known ORDER BY position LIMIT ${limits.PROBLEMS_NAMED})),
    array_to_json(ARRAY(SELECT id FROM leaving WHERE leaving.number = w.number)),
    (SELECT changes FROM allowed WHERE allowed.number = w.number)
  FROM before w ORDER BY w.number`;

/** The members who are not on the list leave. */
const REPLACE = write(`
  SELECT others.id, row_number() OVER (ORDER BY others.id COLLATE "C") FROM (
    SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = w.id EXCEPT SELECT unnest(w.users::text[])) AS others(id)`);

/** Those of another list who are members leave. */
const CHANGE = write(`
  SELECT named.id, named.position FROM unnest(w.leaving::text[]) WITH ORDINALITY AS named(id, position)
  WHERE ${isMember('w.id', 'named.id')} ORDER BY named.id COLLATE "C"`);

/** So many users of a write do not delay others on a connection that they share. */
const USERS_MERGED = 50;

type GroupFields = Pick<StoredGroupWrite, 'name' | 'status' | 'metadata'>;

type MembersOutcome = Written | AlreadyExists | Stale | UnknownUsers | Absent;

/** A write of the members of a group: of its fields, those who are to be members, those who leave; null: all others leave. */
interface MembersWrite {
  readonly id: string;
  readonly fields: GroupFields;
  readonly users: readonly string[];
  readonly leaving: readonly string[] | null;
  readonly context: ConditionalContext;
}

/**
 * Changes the members of a group that has to be there: one round trip, together with other such writes. Durable presence is removed
 * afterwards: a write of presence locks the membership until it commits, so only a statement that begins when the membership is gone
 * sees all of it.
 */
export function changeMembersOf(
  database: PostgresDatabase,
  project: ProjectKey,
  id: string,
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
  context: ConditionalContext,
): Promise<MembersOutcome> {
  const write: MembersWrite = { id, fields: {}, users: add, leaving: remove, context };
  const isShort = add.length + remove.length <= USERS_MERGED;
  return database.operation(targetOf('group', project, id), async (attempt) => {
    const row = isShort ? await attempt.merge(changeCalls, project, write) : null;
    if (row !== null && isDecided(row)) return toOutcome(write, false, row);
    return attempt.transaction(async (transaction) => {
      const calls = [lockCall(project, id), ...changeCalls(project, [write])];
      const [, [alone]] = (await transaction.commit(calls)) as [Row[], [Row]];
      return toOutcome(write, false, alone);
    });
  });
}

/** The calls that change the members of groups. */
function changeCalls(project: ProjectKey, writes: readonly MembersWrite[]): Call[] {
  const removed = writes.flatMap(({ id, leaving }) => (leaving ?? []).map((user): Membership => [id, user]));
  return [callOf(CHANGE, project, writes), ...presenceRemovals(project, removed)];
}

/** Replaces the members of a group, and creates it where it is not there. `absent` where it has no name for that. */
export function replaceMembers(
  database: PostgresDatabase,
  project: ProjectKey,
  id: string,
  { members, ...fields }: GroupFields & { readonly members: readonly string[] },
  context: ConditionalContext,
): Promise<MembersOutcome> {
  const write: MembersWrite = { id, fields, users: members, leaving: null, context };
  // A group that this write must find is not created.
  const mayCreate = fields.name !== undefined && context.ifMatch === undefined;
  const { name, status, metadata } = fields;
  const creation = [name, status, metadata, context.revision, new Set(members).size];
  const create: Call[] = mayCreate ? [[CREATE, project, id, ...creation]] : [];
  return database.transaction(targetOf('group', project, id), async (transaction) => {
    const answers = await transaction.run(
      ...create,
      lockCall(project, id),
      callOf(REPLACE, project, [write]),
    );
    const [row] = answers.at(-1) as [Row];
    const isMade = mayCreate && answers[0]?.length === 1;
    const outcome = toOutcome(write, isMade, row);
    if (outcome.kind === 'created' || outcome.kind === 'updated') {
      const removed = removedOf(row).map((user): Membership => [id, user]);
      await transaction.commit(presenceRemovals(project, removed));
    }
    return outcome;
  });
}

/** Waits for the transaction that has locked the group. */
const lockCall = (project: ProjectKey, id: string): Call => [LOCK_GROUP, project, id];

const callOf = (sql: string, project: ProjectKey, writes: readonly MembersWrite[]): Call => [
  sql,
  project,
  ...arraysOf(writes.map(columnsOf)),
];

/** By {@link COLUMNS}. */
function columnsOf({ id, fields, users, leaving, context }: MembersWrite) {
  const { name = null, status = null, metadata = null } = fields;
  const creation = textOfChanges(resourceChanges('group', id, null, status ?? 'active', []));
  return [
    ...[id, textArray(new Set(users)), leaving === null ? null : textArray(new Set(leaving))],
    ...[name, status, metadata, context.revision],
    ...preconditionValues(context),
    ...originOf(context),
    creation,
  ];
}

type Membership = readonly [group: string, user: string];

/** Removes the durable presence of the users $3 in the groups $2, pair by pair, where they are no members. */
const REMOVE_PRESENCE = removePresence(
  (table) => `
  ${table} t USING ${listed(
    'named.group_id, named.id',
    `${listIn('$2', '$3')} AS named(group_id, id) WHERE NOT ${isMember('named.group_id', 'named.id')}`,
  )}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.id`,
);

function* presenceRemovals(project: ProjectKey, removed: readonly Membership[]): Generator<Call> {
  for (const some of slices(removed, PAIRS_AT_ONCE)) yield [REMOVE_PRESENCE, project, ...arraysOf(some)];
}

const removedOf = (row: Row) => row[6] as readonly string[];

/** Whether the write has seen and locked the group, or has seen that there is none. */
const isDecided = ([, seen, before]: Row): boolean => before !== null || seen === null;

/** The outcome by the row of the write. @throws ProjectGoneError, LostRaceError */
function toOutcome({ id, fields, context }: MembersWrite, isMade: boolean, row: Row): MembersOutcome {
  const [alive, , before, added, count, ids, removed, ofFields] = row as unknown as readonly [
    boolean,
    string | null,
    string | null,
    string[],
    number,
    string[],
    string[],
    string | null,
  ];
  assertAlive(alive);
  if (!isDecided(row)) throw new LostRaceError('the group was changed meanwhile');
  if (before === null && fields.name === undefined && context.ifMatch === undefined)
    return { kind: 'absent' };
  if (count > 0) return { kind: 'unknownUsers', users: { count, ids } };
  const failure = preconditionFailure(context, isMade ? null : before);
  if (failure !== null) return failure;
  if (before === null) throw new LostRaceError('the group was deleted meanwhile');
  const changes = [...parseChanges(ofFields), ...membershipChanges(id, added, removed)];
  if (changes.length === 0) return UNCHANGED;
  return { kind: isMade ? 'created' : 'updated', changes };
}
