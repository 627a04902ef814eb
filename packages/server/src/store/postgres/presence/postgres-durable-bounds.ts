/** The bounds of durable presence, checked by a write of one member. $1 to $3 are project, group and user. */
import type { DurableBounds } from '../../durable-bounds.ts';
import type { DurablePresenceUpdate } from '../../ports/durable-presence.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { textArray } from '../postgres-text.ts';

/** The counts of a member's durable presence in a group. */
interface DurableUsage {
  readonly locations: number;
  readonly bytes: number;
  /** When all of it was counted, on the clock of the writer. */
  readonly countedAt: number;
}

type MemberKey = readonly [project: unknown, groupId: string, userId: string];

/**
 * Where the bounds are exceeded, a count that is so old is repeated, in milliseconds: processes of an older
 * version do not count. Counting reads all locations of the member.
 */
const RECOUNT_AFTER_MS = 60_000;
/**
 * How many locations are read to find those that end. Nearly always it is one, so the first step reads few; a long
 * location may take the room of a thousand short ones.
 */
const FEW = 8;
const MANY = 2_000;
/** Most steps of one write, so that its cost has an end: what is left is for the next write of the member. */
const STEPS_MAX = 5;

/** An SQL condition: the rows of the member. */
const OF_MEMBER = 'project_id = $1 AND group_id = $2 AND user_id = $3';

/**
 * Locks the memberships of the users $3 in the groups $2 and what is counted of each until the commit, and with it their durable
 * presence; one by one in ascending order, so two lists with the same members do not wait for each other both.
 */
export const LOCK_USAGES = `
  WITH member AS MATERIALIZED (
    SELECT locked.group_id, locked.user_id FROM (
      SELECT w.group_id, w.user_id FROM unnest($2::text[], $3::text[]) AS w(group_id, user_id)
      ORDER BY w.group_id COLLATE "C", w.user_id COLLATE "C") AS named
    CROSS JOIN LATERAL (
      SELECT r.group_id, r.user_id FROM memberships AS r
      WHERE r.project_id = $1 AND r.group_id = named.group_id AND r.user_id = named.user_id FOR KEY SHARE) AS locked)
  INSERT INTO durable_usage (project_id, group_id, user_id) SELECT $1, group_id, user_id FROM member
  ON CONFLICT (project_id, group_id, user_id) DO UPDATE SET locations = excluded.locations WHERE FALSE`;

/** The columns that name the members of {@link LOCK_USAGES}. */
export const memberColumns = (updates: readonly DurablePresenceUpdate[]) =>
  [textArray(updates.map(({ groupId }) => groupId)), textArray(updates.map(({ userId }) => userId))] as const;

/** Removes the locations that `ending` names, with their pairs. */
const REMOVE_ENDING = `
  ended AS (
    DELETE FROM durable_presence WHERE ${OF_MEMBER} AND region_hash = ANY(ARRAY(SELECT region_hash FROM ending))
    RETURNING updated_at, octet_length(location) AS bytes),
  pairs AS (
    DELETE FROM durable_pairs WHERE ${OF_MEMBER} AND region_hash = ANY(ARRAY(SELECT region_hash FROM ending)))`;

/**
 * Ends the oldest of the first $4 locations before the time $5, until there are $6 fewer and $7 bytes less. (How many
 * ended, the time of the latest of them, what is counted now.)
 */
const END_OLDEST = `
  WITH oldest AS (
    SELECT region_hash, updated_at, octet_length(location) AS bytes FROM durable_presence
    WHERE ${OF_MEMBER} AND updated_at < $5 ORDER BY updated_at LIMIT $4),
  ending AS (
    SELECT region_hash FROM (
      SELECT region_hash, count(*) OVER earlier AS locations, coalesce(sum(bytes) OVER earlier, 0) AS bytes
      FROM oldest
      WINDOW earlier AS (ORDER BY updated_at, region_hash ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS summed
    WHERE locations < $6 OR bytes < $7),
  ${REMOVE_ENDING},
  total AS (
    SELECT count(*)::integer AS locations, coalesce(sum(bytes), 0)::integer AS bytes, max(updated_at) AS at FROM ended),
  counted AS (
    UPDATE durable_usage u SET locations = u.locations - total.locations, bytes = u.bytes - total.bytes
    FROM total WHERE u.project_id = $1 AND u.group_id = $2 AND u.user_id = $3
    RETURNING u.locations, u.bytes, u.counted_at)
  SELECT total.locations, total.at, counted.* FROM total CROSS JOIN counted`;

/**
 * Ends up to $4 of the locations that are older than the newest $5 with $6 bytes, the oldest first, whatever is counted.
 * (How many ended, the time of the latest of them.)
 */
const END_UNCOUNTED = `
  WITH newest AS (
    SELECT updated_at, octet_length(location) AS bytes FROM durable_presence
    WHERE ${OF_MEMBER} ORDER BY updated_at DESC LIMIT $5),
  lasting AS (
    SELECT min(updated_at) AS since FROM (
      SELECT updated_at, sum(bytes) OVER (ORDER BY updated_at DESC ROWS UNBOUNDED PRECEDING) AS total
      FROM newest) AS summed
    WHERE total <= $6),
  ending AS (
    SELECT region_hash FROM durable_presence
    WHERE ${OF_MEMBER} AND updated_at < (SELECT since FROM lasting) ORDER BY updated_at LIMIT $4),
  ${REMOVE_ENDING}
  SELECT count(*), max(updated_at) FROM ended`;

/** Counts all locations, at the time $4. (What is counted now.) */
const COUNT = `
  UPDATE durable_usage u SET locations = found.locations, bytes = found.bytes, counted_at = $4
  FROM (
    SELECT count(*)::integer AS locations, coalesce(sum(octet_length(location)), 0)::integer AS bytes
    FROM durable_presence WHERE ${OF_MEMBER}) AS found
  WHERE u.project_id = $1 AND u.group_id = $2 AND u.user_id = $3
  RETURNING u.locations, u.bytes, u.counted_at`;

/**
 * Ends the oldest locations of the member until the bounds are met, but not the one with the time `at`, and at most so many
 * as a write may cost. The transaction has locked what is counted; `usage` is null where that is nothing. The latest time
 * of those that ended; null where none did.
 */
export async function endOldest(
  transaction: Transaction,
  member: MemberKey,
  usage: DurableUsage | null,
  at: number,
  bounds: DurableBounds,
): Promise<number | null> {
  if (usage !== null && !exceeds(usage, bounds)) return null;
  if (usage !== null && at - usage.countedAt <= RECOUNT_AFTER_MS)
    return endCounted(transaction, member, usage, at, bounds);
  const [[row]] = await transaction.run([END_UNCOUNTED, ...member, MANY, bounds.locations, bounds.bytes]);
  const [ended, endedTo] = row as [number, number | null];
  // Too many for one write: the next one goes on, and counts when no more are left.
  if (ended === MANY) return endedTo;
  const [[counted]] = await transaction.run([COUNT, ...member, at]);
  return (await endCounted(transaction, member, toUsage(counted as Row), at, bounds)) ?? endedTo;
}

async function endCounted(
  transaction: Transaction,
  member: MemberKey,
  found: DurableUsage,
  at: number,
  bounds: DurableBounds,
): Promise<number | null> {
  let [usage, endedTo]: [DurableUsage, number | null] = [found, null];
  for (let step = 0; step < STEPS_MAX && exceeds(usage, bounds); step += 1) {
    const excess = [usage.locations - bounds.locations, usage.bytes - bounds.bytes] as const;
    const [[row]] = await transaction.run([END_OLDEST, ...member, step === 0 ? FEW : MANY, at, ...excess]);
    const [ended, latest, ...counted] = row as [number, number | null, ...Row];
    if (ended === 0) break;
    [usage, endedTo] = [toUsage(counted), latest];
  }
  return endedTo;
}

const toUsage = (row: Row): DurableUsage => {
  const [locations, bytes, countedAt] = row as [number, number, number];
  return { locations, bytes, countedAt };
};

/** The counts of a row; null where nothing was counted. */
export const usageOf = (row: Row): DurableUsage | null => (row[0] === null ? null : toUsage(row));

/** Whether so many locations with so much text are more than the bounds. */
export const exceeds = (
  { locations, bytes }: Pick<DurableUsage, 'locations' | 'bytes'>,
  bounds: DurableBounds,
): boolean => locations > bounds.locations || bytes > bounds.bytes;
