import { type ChangeTypeOf, limits } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import { membershipChanges, resourceChanges, USERS_PER_CHANGE } from '../changes.ts';
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
import type { Call, Row } from './connections/postgres-connection.ts';
import type { Attempt } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { originOf, parseChanges, recordedParts, textOfChanges, updateChanges } from './postgres-changes.ts';
import { listed, listIn } from './postgres-lists.ts';
import { PAIRS_AT_ONCE, removePresence } from './postgres-member-lists.ts';
import {
  ALIVE,
  LOCK_GROUP,
  lockedRevision,
  meetsPrecondition,
  preconditionParameters,
} from './postgres-row-writes.ts';
import { textArray } from './postgres-text.ts';

/** Creates the group, with all its members, where it is not there: another transaction that creates it waits for this one. */
const CREATE = `
  INSERT INTO groups (project_id, id, name, status, metadata, revision, member_count)
  SELECT $1, $2, $3, coalesce($4::text, 'active'), coalesce($5::text, '{}'), $6, $7 WHERE ${ALIVE}
  ON CONFLICT (project_id, id) DO NOTHING RETURNING 1`;

/** Whether the user `id` is a member: one index lookup, whatever the planner believes of the sizes. */
const isMember = (id: string) =>
  `(SELECT 1 FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = ${id}) IS NOT NULL`;

/** The columns of the group as they will be. */
const WANTED = `
  SELECT coalesce($4::text, before.name) AS name, coalesce($5::text, before.status) AS status,
    coalesce($6::text, before.metadata) AS metadata`;

/** SQL of a query: the changes of the members of a list (id, position), at most {@link USERS_PER_CHANGE} users each. */
const memberChanges = (type: ChangeTypeOf<'members'>, list: string, order: number) => `
  SELECT ${order} AS list, (position - 1) / ${USERS_PER_CHANGE} AS part,
    '{"type":"${type}","group":' || to_json($2::text)::text || ',"users":['
      || string_agg(to_json(id)::text, ',' ORDER BY position) || ']}' AS text
  FROM (SELECT id, row_number() OVER (ORDER BY position) AS position FROM ${list}) AS dense GROUP BY part`;

/**
 * Writes the group, which a statement before it has locked or made, where that is allowed: its fields $4 to $6, its revision $7,
 * the users $3 who are not members yet, without the members who leave (`leaving`: IDs), and the record of the changes. $8 to $10
 * are the precondition, $11 to $13 the origin, $14 the changes of a group that was made. A user who becomes a member is locked, one by one in
 * ascending order, so that none is deleted before that. A group that appeared after the statement that was to lock it is taken only as this
 * statement has seen it. (The new members, how many of the users do not exist, the first of those, the members who leave, the changes of
 * the fields, the revision before.)
 */
const write = (leaving: string) => `
  WITH before AS MATERIALIZED (
    SELECT revision, name, status, metadata, revision = $7 AS is_made FROM groups
    WHERE project_id = $1 AND id = $2 AND ${ALIVE}
      AND revision = (SELECT seen.revision FROM groups AS seen WHERE seen.project_id = $1 AND seen.id = $2)
    FOR UPDATE SKIP LOCKED),
  named AS MATERIALIZED (
    SELECT named.id, named.position, existing.id IS NOT NULL AS is_known FROM (
      SELECT w.id, w.position FROM ${listIn('$3')} WITH ORDINALITY AS w(id, position)
      WHERE NOT ${isMember('w.id')} ORDER BY w.id COLLATE "C") AS named
    LEFT JOIN LATERAL (
      SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id = named.id FOR KEY SHARE) AS existing ON TRUE),
  leaving AS MATERIALIZED (${leaving}),
  allowed AS MATERIALIZED (
    SELECT is_made FROM before
    WHERE (is_made OR (${meetsPrecondition(8)})) AND NOT EXISTS (SELECT 1 FROM named WHERE NOT is_known)),
  fields AS MATERIALIZED (
    SELECT CASE WHEN before.is_made THEN $14::text ELSE ${updateChanges('group', ['name', 'metadata'])} END AS changes
    FROM before CROSS JOIN LATERAL (${WANTED}) AS t),
  made AS MATERIALIZED (
    SELECT 0 AS list, 0 AS part, substr(changes, 2, length(changes) - 2) AS text FROM fields WHERE changes <> '[]'
    UNION ALL ${memberChanges('member.added', 'named', 1)}
    UNION ALL ${memberChanges('member.removed', 'leaving', 2)}),
  parts AS MATERIALIZED (
    SELECT part, '[' || string_agg(text, ',' ORDER BY list) || ']' AS text FROM made
    WHERE EXISTS (SELECT 1 FROM allowed) GROUP BY part),
  updated AS (
    UPDATE groups g SET name = coalesce($4::text, g.name), status = coalesce($5::text, g.status), metadata = coalesce($6::text, g.metadata),
      revision = $7, member_count = g.member_count + (SELECT count(*) FROM named) - (SELECT count(*) FROM leaving)
    WHERE g.project_id = $1 AND g.id = $2
      AND EXISTS (SELECT 1 FROM allowed WHERE NOT is_made) AND EXISTS (SELECT 1 FROM parts)),
  gone AS (
    DELETE FROM memberships t
    USING ${listed('$2::text AS group_id, leaving.id', 'leaving WHERE EXISTS (SELECT 1 FROM allowed)', 'w')}
    WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.id),
  added AS (
    INSERT INTO memberships (project_id, group_id, user_id)
    SELECT $1, $2, id FROM named WHERE EXISTS (SELECT 1 FROM allowed) ORDER BY id COLLATE "C"),
  ${recordedParts('SELECT array_agg(text ORDER BY part) FROM parts', 11)}
  SELECT array_to_json(ARRAY(SELECT id FROM named)),
    (SELECT count(*) FROM named WHERE NOT is_known),
    array_to_json(ARRAY(SELECT id FROM named WHERE NOT is_known ORDER BY position LIMIT ${limits.PROBLEMS_NAMED})),
    array_to_json(ARRAY(SELECT id FROM leaving)), (SELECT changes FROM fields), (SELECT revision FROM before)`;

/** The members who are not on the list leave. */
const REPLACE = write(`
  SELECT others.id, row_number() OVER (ORDER BY others.id COLLATE "C") AS position FROM (
    SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = $2 EXCEPT SELECT unnest($3::text[])) AS others(id)`);

/** Those of the list $15 who are members leave. */
const CHANGE = write(`
  SELECT w.id, w.position FROM ${listIn('$15')} WITH ORDINALITY AS w(id, position)
  WHERE ${isMember('w.id')} ORDER BY w.id COLLATE "C"`);

/** Lists with so many users do not delay others on a connection that they share. */
const USERS_TOGETHER = 100;

type GroupFields = Pick<StoredGroupWrite, 'name' | 'status' | 'metadata'>;

type MembersOutcome = Written | AlreadyExists | Stale | UnknownUsers | Absent;

/**
 * Changes the members of a group that has to be there: one round trip. Durable presence is removed afterwards: a write of
 * presence locks the membership until it commits, so only a statement that begins when the membership is gone sees all of it.
 */
export async function changeMembersOf(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
  context: ConditionalContext,
): Promise<MembersOutcome> {
  const leaving = textArray(new Set(remove));
  const calls: Call[] = [
    [LOCK_GROUP, project, id],
    [CHANGE, ...parametersOf(project, id, {}, add, context), leaving],
  ];
  if (remove.length > 0) calls.push([REMOVE_PRESENCE, project, id, leaving]);
  const isShort = add.length + remove.length <= USERS_TOGETHER;
  const answers = isShort
    ? await attempt.runTogether(...calls)
    : await attempt.transaction((transaction) => transaction.commit(calls));
  const [[found], [row]] = answers as [[Row], [Row]];
  return toOutcome(id, false, found, row, {}, context);
}

/** Replaces the members of a group, and creates it where it is not there. `absent` where it has no name for that. */
export function replaceMembers(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  { members, ...fields }: GroupFields & { readonly members: readonly string[] },
  context: ConditionalContext,
): Promise<MembersOutcome> {
  // A group that this write must find is not created.
  const mayCreate = fields.name !== undefined && context.ifMatch === undefined;
  const create: Call[] = mayCreate
    ? [[CREATE, project, id, ...columnsOf(fields, context), new Set(members).size]]
    : [];
  return attempt.transaction(async (transaction) => {
    const answers = await transaction.run(
      ...create,
      [LOCK_GROUP, project, id],
      [REPLACE, ...parametersOf(project, id, fields, members, context)],
    );
    const [[found], [row]] = answers.slice(create.length) as [[Row], [Row]];
    const isMade = mayCreate && answers[0]?.length === 1;
    const outcome = toOutcome(id, isMade, found, row, fields, context);
    if (outcome.kind === 'created' || outcome.kind === 'updated')
      await transaction.commit(presenceRemovals(project, id, removedOf(row)));
    return outcome;
  });
}

/** Removes the durable presence of the users $3 who are no members. */
const REMOVE_PRESENCE = removePresence(
  (table) => `
  ${table} t USING ${listed('$2::text AS group_id, named.id', `${listIn('$3')} AS named(id) WHERE NOT ${isMember('named.id')}`, 'w')}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.id`,
);

function* presenceRemovals(project: ProjectKey, id: string, removed: readonly string[]): Generator<Call> {
  for (let from = 0; from < removed.length; from += PAIRS_AT_ONCE)
    yield [REMOVE_PRESENCE, project, id, textArray(removed.slice(from, from + PAIRS_AT_ONCE))];
}

const columnsOf = ({ name, status, metadata }: GroupFields, { revision }: WriteContext) =>
  [name ?? null, status ?? null, metadata ?? null, revision] as const;

const parametersOf = (
  project: ProjectKey,
  id: string,
  fields: GroupFields,
  members: readonly string[],
  context: ConditionalContext,
) =>
  [
    ...[project, id, textArray(new Set(members)), ...columnsOf(fields, context)],
    ...[...preconditionParameters(context), ...originOf(context)],
    textOfChanges(resourceChanges('group', id, null, fields.status ?? 'active', [])),
  ] as const;

const removedOf = (row: Row) => row[3] as readonly string[];

/** The outcome by the rows of {@link LOCK_GROUP} and of the write. @throws ProjectGoneError, LostRaceError */
function toOutcome(
  id: string,
  isMade: boolean,
  locked: Row,
  row: Row,
  fields: GroupFields,
  context: ConditionalContext,
): MembersOutcome {
  lockedRevision(locked);
  const [added, count, ids, removed, ofFields, before] = row as unknown as readonly [
    string[],
    number,
    string[],
    string[],
    string | null,
    string | null,
  ];
  if (before === null && fields.name === undefined)
    return { kind: context.ifMatch === undefined ? 'absent' : 'stale' };
  if (count > 0) return { kind: 'unknownUsers', users: { count, ids } };
  const failure = preconditionFailure(context, isMade ? null : before);
  if (failure !== null) return failure;
  if (before === null) throw new LostRaceError('the group was deleted meanwhile');
  const changes = [...parseChanges(ofFields), ...membershipChanges(id, added, removed)];
  if (changes.length === 0) return UNCHANGED;
  return { kind: isMade ? 'created' : 'updated', changes };
}
