/**
 * The statements of a batch. $1 is the project everywhere. Each is sent once for all items; those about members are sent
 * once for each 20,000 of them.
 */
import { planEachTime } from '../connections/postgres-connection.ts';
import { listed, rowOf } from '../postgres-lists.ts';
import { ALIVE } from '../postgres-row-writes.ts';
import { insertUsers, USER_FIELDS, userAssignments } from '../roster/postgres-users.ts';

/** The fields of a group in the order of the parameters. */
export const GROUP_FIELDS = ['name', 'status', 'metadata'] as const;
export type GroupField = (typeof GROUP_FIELDS)[number];

/** Whether the project is there, and which of the groups $2 are. */
export const WHICH_GROUPS_EXIST = `
  SELECT ${ALIVE}, array_to_json(ARRAY(
    SELECT g.id FROM unnest($2::text[]) AS w(id) ${rowOf('groups', 'g', 'r.id', 'r.id = w.id')}))`;

/** An SQL expression: a number with a bit for each condition, the first of them lowest. */
const mask = (conditions: readonly string[]) =>
  conditions.map((condition, bit) => `CASE WHEN ${condition} THEN ${1 << bit} ELSE 0 END`).join(' + ');

/**
 * Locks the groups $2, and makes those that are not there: $3 names, $4 statuses, $5 metadata, $6 numbers of members, $7 the
 * revision. Another transaction that makes one of them waits for this transaction. Finding or making each is one step that cannot be
 * overtaken, in the order of IDs for all of them: a lookup that is followed by a lock may find the row gone, again and again.
 * Setting a part of the key is what makes it FOR UPDATE; nothing is set.
 */
export const LOCK_GROUPS = `
  INSERT INTO groups (project_id, id, name, status, metadata, member_count, revision)
  SELECT $1, w.id, coalesce(w.name, ''), coalesce(w.status, 'active'), coalesce(w.metadata, '{}'), w.members, $7
  FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) AS w(id, name, status, metadata, members)
  WHERE ${ALIVE}
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET id = excluded.id WHERE FALSE`;

/**
 * Of each of the groups $2: its position from 1 on, whether this batch made it, its status, which of $3 names, $4 statuses,
 * $5 metadata are other than it has. $6 is the revision.
 */
export const READ_GROUPS = `
  SELECT w.position, g.revision = $6, g.status, ${mask(['w.name <> g.name', 'w.status <> g.status', 'w.metadata <> g.metadata'])}
  FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS w(id, name, status, metadata, position)
    ${rowOf('groups', 'g', 'r.revision, r.status, r.name, r.metadata', 'r.id = w.id')}`;

const USER_ARRAYS = USER_FIELDS.map((_, index) => `$${index + 3}::text[]`).join(', ');
const USER_COLUMNS = USER_FIELDS.join(', ');

/** Locks a user who may be there, for a row of `named`. */
const locked = (condition: string, lock: string) =>
  `LATERAL (SELECT 1 AS is_there FROM users u WHERE ${condition} AND u.project_id = $1 AND u.id = named.id ${lock})`;

/**
 * Locks all users whom a batch names and who are there, mere members ($2) so that none of them is deleted, and items ($3) as
 * they are to be written; and answers which of the mere members are not there. It is one step for both, in one order: else
 * batches, each with items among the members of the other, would wait for each other as soon as another transaction waits in between.
 */
export const LOCK_USERS = `
  WITH locked AS MATERIALIZED (
    SELECT named.id, named.is_item, coalesce(item.is_there, member.is_there) IS NOT NULL AS is_there
    FROM (
      SELECT * FROM (
        SELECT id, FALSE AS is_item FROM unnest($2::text[]) AS member(id)
        UNION ALL SELECT id, TRUE FROM unnest($3::text[]) AS item(id)) AS unordered
      ORDER BY id COLLATE "C") AS named
    LEFT JOIN ${locked('named.is_item', 'FOR NO KEY UPDATE')} AS item ON TRUE
    LEFT JOIN ${locked('NOT named.is_item', 'FOR KEY SHARE')} AS member ON TRUE)
  SELECT id FROM locked WHERE NOT is_item AND NOT is_there`;

/**
 * Makes the users $2 who are not there, or locks those who have come meanwhile, as {@link LOCK_GROUPS} does with groups:
 * $3 to $8 the fields, $9 now, $10 the revision. As no part of the key is set it is FOR NO KEY UPDATE, which shares them
 * with transactions that lock them as members.
 */
export const MAKE_USERS = `
  ${insertUsers('w.id', (field) => `w.${field}`)}
  FROM unnest($2::text[], ${USER_ARRAYS}) AS w(id, ${USER_COLUMNS})
  WHERE ${ALIVE}
  ORDER BY w.id COLLATE "C"
  ON CONFLICT (project_id, id) DO UPDATE SET revision = excluded.revision WHERE FALSE`;

/**
 * Of the users $2, as one JSON array of arrays: the position from 1 on, whether this batch made the user, the status, which of
 * the fields $3 to $8 are other; only users who were made, are other or are repeated ($9). $10 is the revision.
 */
export const READ_USERS = `
  WITH found AS (
    SELECT w.position, w.repeated, u.revision = $10 AS made, u.status,
      ${mask(USER_FIELDS.map((field) => `w.${field} IS NOT NULL AND nullif(w.${field}, '') IS DISTINCT FROM u.${field}`))} AS differs
    FROM unnest($2::text[], ${USER_ARRAYS}, $9::boolean[]) WITH ORDINALITY AS w(id, ${USER_COLUMNS}, repeated, position)
      ${rowOf('users', 'u', 'r.*', 'r.id = w.id')})
  SELECT json_agg(json_build_array(position, made, status, differs)) FROM found
  WHERE made OR repeated OR differs <> 0`;

/** A group may have more members than one value of an answer can name. */
const NAMED_PER_ROW = 10_000;

/**
 * How lists of members differ from the members of their groups, in rows: a list's number, some of those on it who are not
 * members yet, and some of the members who are not on it, each null for none. The latter are in order of their IDs, over all rows of a
 * list. $2 the list's number and $3 the user, for each who is on one; $4 the lists' numbers, $5 their groups.
 */
export const COMPARE_LISTS = planEachTime(`
  SELECT list, json_agg(fresh) FILTER (WHERE fresh IS NOT NULL),
    json_agg(other ORDER BY other COLLATE "C") FILTER (WHERE other IS NOT NULL)
  FROM (
    SELECT coalesce(listed.list, members.list) AS list, listed.user_id AS fresh, members.user_id AS other,
      row_number() OVER (
        PARTITION BY coalesce(listed.list, members.list) ORDER BY members.user_id COLLATE "C") / ${NAMED_PER_ROW} AS part
    FROM unnest($2::int[], $3::text[]) AS listed(list, user_id)
      FULL JOIN (
        SELECT lists.list, m.user_id FROM unnest($4::int[], $5::text[]) AS lists(list, group_id)
          ${rowOf('memberships', 'm', 'r.user_id', 'r.group_id = lists.group_id')}) AS members
      ON members.list = listed.list AND members.user_id = listed.user_id
    WHERE listed.user_id IS NULL OR members.user_id IS NULL) AS differing
  GROUP BY list, part ORDER BY list, part`);

/** Writes the fields $3 to $8 of the users $2; $9 is now, $10 the revision. */
export const UPDATE_USERS = planEachTime(`
  UPDATE users u SET ${userAssignments('u', (field) => `w.${field}`)}, updated_at = greatest(u.updated_at, $9),
    revision = $10
  FROM ${listed('named.*', `unnest($2::text[], ${USER_ARRAYS}) AS named(id, ${USER_COLUMNS})`)}
  WHERE u.project_id = w.project_id AND u.id = w.id`);

/** Writes the fields $3 to $5 of the groups $2, and by how much $6 their members grow; $7 is the revision. */
export const UPDATE_GROUPS = planEachTime(`
  UPDATE groups g SET name = coalesce(w.name, g.name), status = coalesce(w.status, g.status),
    metadata = coalesce(w.metadata, g.metadata), member_count = g.member_count + w.growth, revision = $7
  FROM ${listed(
    'named.*',
    `unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
      AS named(id, name, status, metadata, growth)`,
  )}
  WHERE g.project_id = w.project_id AND g.id = w.id`);
