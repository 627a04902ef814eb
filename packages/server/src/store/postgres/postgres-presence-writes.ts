import type { DurableBounds } from '../durable-bounds.ts';
import type {
  DurablePresenceOutcome,
  DurablePresenceUpdate,
  Json,
  ProjectKey,
  Standing,
  WriteStamp,
} from '../store.ts';
import type { Call, Row } from './connections/postgres-connection.ts';
import type { Attempt } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { endOldest, LOCK_USAGE, usageOf } from './postgres-durable-bounds.ts';
import { ALIVE, assertAlive } from './postgres-outcomes.ts';
import { pairKeys, placeKey } from './postgres-place-keys.ts';
import { STANDING, toStanding } from './postgres-standings.ts';
import { bytesArray } from './postgres-text.ts';

const OF_MEMBER = 'project_id = $1 AND group_id = $2 AND user_id = $3';

/**
 * Sets a location, with its pairs, where the user may be present, in one statement. Holds the membership, so that whoever
 * ends it meanwhile waits and finds the location. $10 and $11 are the bounds: with them it is set only where they hold,
 * where the region has no other location, whose pairs would stay, and where what this statement has seen is what is
 * counted, so that nobody has written since. Without them (null) what is counted has been locked before. (Whether the
 * project is there, whether the user may be present, the time, the location before, what is counted now.)
 */
const PUT = `
  WITH member AS (SELECT 1 FROM memberships WHERE ${OF_MEMBER} FOR KEY SHARE),
  usage AS (SELECT locations, bytes, latest_at FROM durable_usage WHERE ${OF_MEMBER}),
  before AS (
    SELECT location, octet_length(location) AS bytes FROM durable_presence WHERE ${OF_MEMBER} AND region_hash = $4),
  latest AS (
    SELECT coalesce((SELECT latest_at FROM usage), (
      SELECT updated_at FROM durable_presence WHERE ${OF_MEMBER} ORDER BY updated_at DESC LIMIT 1)) AS at),
  wanted AS (
    SELECT greatest($8::bigint, latest.at + 1) AS at,
      CASE WHEN latest.at IS NULL THEN 1
        ELSE usage.locations + CASE WHEN before.location IS NULL THEN 1 ELSE 0 END END AS locations,
      CASE WHEN latest.at IS NULL THEN 0
        ELSE usage.bytes - coalesce(before.bytes, 0) END + octet_length($7::text) AS bytes,
      coalesce(before.location, $7::text) = $7::text AS keeps_pairs
    FROM member CROSS JOIN latest LEFT JOIN usage ON TRUE LEFT JOIN before ON TRUE
    WHERE ${ALIVE}
      AND (SELECT status FROM users WHERE project_id = $1 AND id = $3) = 'active'
      AND (SELECT status FROM groups WHERE project_id = $1 AND id = $2) = 'active'),
  counted AS (
    INSERT INTO durable_usage (project_id, group_id, user_id, locations, bytes, latest_at, counted_at)
    SELECT $1, $2, $3, locations, bytes, at, at FROM wanted
    WHERE $10::integer IS NULL OR (keeps_pairs AND locations <= $10::integer AND bytes <= $11::integer)
    ON CONFLICT (project_id, group_id, user_id) DO UPDATE SET
      locations = excluded.locations, bytes = excluded.bytes, latest_at = excluded.latest_at,
      counted_at = coalesce(durable_usage.counted_at, excluded.counted_at)
    WHERE $10::integer IS NULL OR durable_usage.latest_at = (SELECT latest_at FROM usage)
    RETURNING locations, bytes, latest_at, counted_at),
  put AS (
    INSERT INTO durable_presence (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, counted.latest_at FROM counted
    ON CONFLICT (project_id, group_id, user_id, region_hash) DO UPDATE SET
      previous_location = NULL, location_hash = excluded.location_hash, location = excluded.location,
      updated_at = excluded.updated_at
    RETURNING updated_at),
  pairs AS (
    INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
    SELECT $1, $2, $3, $4, pair.hash, $9, put.updated_at FROM put CROSS JOIN unnest($9::bytea[]) AS pair(hash)
    ON CONFLICT (project_id, group_id, user_id, region_hash, pair_hash) DO UPDATE SET
      pair_hashes = excluded.pair_hashes, updated_at = excluded.updated_at)
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM wanted), counted.latest_at, (SELECT location FROM before),
    counted.locations, counted.bytes, counted.counted_at
  FROM (SELECT 1) one LEFT JOIN counted ON TRUE`;

/** Removes the pairs that the place of a region has no more. */
const REMOVE_OLD_PAIRS = `
  DELETE FROM durable_pairs
  WHERE project_id = $1 AND group_id = $2 AND user_id = $3 AND region_hash = $4 AND pair_hash <> ALL($5::bytea[])`;

/**
 * Sets durable presence: one statement where the location is its own region and the bounds hold. Otherwise what is
 * counted of the member is locked first, so that old pairs and what exceeds the bounds go in the same transaction: three
 * round trips, and more where very many locations end.
 */
export async function putDurablePresence(
  attempt: Attempt,
  project: ProjectKey,
  update: DurablePresenceUpdate,
  { now }: WriteStamp,
  bounds: DurableBounds,
): Promise<DurablePresenceOutcome> {
  const { userId, groupId, region, location } = update;
  const member = [project, groupId, userId] as const;
  const place = [...member, placeKey(region)] as const;
  const pairs = bytesArray(pairKeys(location));
  const put = (within: DurableBounds | null): Call => [
    ...([PUT, ...place, region, placeKey(location), location, now, pairs] as const),
    within?.locations ?? null,
    within?.bytes ?? null,
  ];
  if (region === location) {
    const [row] = await attempt.run(...put(bounds));
    const outcome = await outcomeOf(row as Row, () => attempt.run(STANDING, ...member));
    if (outcome !== null) return outcome;
  }
  return attempt.transaction('small', async (transaction) => {
    const [, [row]] = await transaction.run([LOCK_USAGE, ...member], put(null), [
      REMOVE_OLD_PAIRS,
      ...place,
      pairs,
    ]);
    const outcome = await outcomeOf(row as Row, async () => {
      const [standing] = await transaction.run([STANDING, ...member]);
      return standing;
    });
    if (outcome === null) throw new LostRaceError('the membership began meanwhile');
    if (outcome.kind === 'refused') return outcome;
    const usage = usageOf((row as Row).slice(4));
    const endedTo = await endOldest(transaction, member, usage, outcome.at, bounds);
    await transaction.commit();
    return { ...outcome, endedTo };
  });
}

/**
 * What a put came to; null where it was not done though the user may be present. The standing that forbade it is read
 * anew: what the put saw of it may be of two moments.
 */
async function outcomeOf(
  [alive, isAllowed, at, previous]: Row,
  readStanding: () => Promise<Row[]>,
): Promise<DurablePresenceOutcome | null> {
  assertAlive(alive);
  if (at !== null) return { kind: 'set', previous: previous as Json | null, at: at as number, endedTo: null };
  if (isAllowed === true) return null;
  const standing = toStanding((await readStanding())[0] as Row);
  if (mayBePresent(standing)) throw new LostRaceError('the standing changed meanwhile');
  return { kind: 'refused', standing };
}

const mayBePresent = ({ user, group, incarnation }: Standing): boolean =>
  user === 'active' && group === 'active' && incarnation !== null;
