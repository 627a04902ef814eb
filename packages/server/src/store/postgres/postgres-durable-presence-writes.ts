import type { Json } from '../../values/json.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { durablePresenceChanges } from '../changes.ts';
import type { DurableBounds } from '../durable-bounds.ts';
import type { DurablePresenceOutcome, DurablePresenceUpdate } from '../ports/durable-presence.ts';
import { isEligible } from '../ports/eligibility.ts';
import type { WriteContext } from '../write-context.ts';
import type { Call, Row } from './connections/postgres-connection.ts';
import type { Attempt, Transaction } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { originOf, recordCalls, recorded, textOfChanges } from './postgres-changes.ts';
import { endOldest, LOCK_USAGE, OF_MEMBER, usageOf } from './postgres-durable-bounds.ts';
import { eligibilityCall, toEligibility } from './postgres-eligibility.ts';
import { locationKey, pairKeys } from './postgres-location-keys.ts';
import { ALIVE, assertAlive } from './postgres-row-writes.ts';
import { bytesArray } from './postgres-text.ts';

/**
 * Sets a location, with its pairs, where the user is eligible, in one statement. It locks the membership, so that a
 * transaction that ends the membership waits and finds the location. $10 and $11 are the bounds: with them it is set only within them,
 * and where what this statement has seen is what is counted, so that no other write came in between: the pairs that the region has
 * no more are those that it has seen. Without bounds (null) what is counted has been locked before. (Whether the
 * project is there, whether the user is eligible, the time, the location before, what is counted now.) $12 to $14 are the
 * origin and $15 the change to record where the location is another; `[]` where it is recorded later.
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
        ELSE usage.bytes - coalesce(before.bytes, 0) END + octet_length($7::text) AS bytes
    FROM member CROSS JOIN latest LEFT JOIN usage ON TRUE LEFT JOIN before ON TRUE
    WHERE ${ALIVE}
      AND (SELECT status FROM users WHERE project_id = $1 AND id = $3) = 'active'
      AND (SELECT status FROM groups WHERE project_id = $1 AND id = $2) = 'active'),
  counted AS (
    INSERT INTO durable_usage (project_id, group_id, user_id, locations, bytes, latest_at, counted_at)
    SELECT $1, $2, $3, locations, bytes, at, at FROM wanted
    WHERE $10::integer IS NULL OR (locations <= $10::integer AND bytes <= $11::integer)
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
      pair_hashes = excluded.pair_hashes, updated_at = excluded.updated_at),
  gone AS (
    DELETE FROM durable_pairs WHERE ${OF_MEMBER} AND region_hash = $4 AND pair_hash <> ALL($9::bytea[])
      AND EXISTS (SELECT 1 FROM put)),
  ${recorded('SELECT $15::text FROM put LEFT JOIN before ON TRUE WHERE before.location IS DISTINCT FROM $7::text', 12)}
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM wanted), counted.latest_at, (SELECT location FROM before),
    counted.locations, counted.bytes, counted.counted_at
  FROM (SELECT 1) one LEFT JOIN counted ON TRUE`;

/**
 * Sets durable presence: one statement where the bounds are met. Otherwise what is counted of the member is locked first, so that
 * what exceeds the bounds goes in the same transaction: three round trips, and more where very many locations end.
 */
export async function putDurablePresence(
  attempt: Attempt,
  project: ProjectKey,
  update: DurablePresenceUpdate,
  context: WriteContext,
  bounds: DurableBounds,
): Promise<DurablePresenceOutcome> {
  const [row] = await attempt.run(...putCall(project, update, context, bounds));
  const outcome = await outcomeOf(row as Row, () => attempt.run(...eligibilityCall(project, [update])));
  if (outcome?.kind === 'set') return { ...outcome, changes: durablePresenceChanges(update, outcome) };
  if (outcome !== null) return outcome;
  return attempt.transaction(async (transaction) => {
    const lock: Call = [LOCK_USAGE, project, update.groupId, update.userId];
    const outcome = await putLocked(transaction, project, update, context, bounds, [lock]);
    if (outcome.kind === 'set') await transaction.commit(recordCalls(project, outcome.changes, context));
    return outcome;
  });
}

/**
 * Sets a location in a transaction that has locked what is counted of the member, or does so by the calls `before`. Its
 * changes are left to record.
 */
export async function putLocked(
  transaction: Transaction,
  project: ProjectKey,
  update: DurablePresenceUpdate,
  context: WriteContext,
  bounds: DurableBounds,
  before: readonly Call[] = [],
): Promise<DurablePresenceOutcome> {
  const member = [project, update.groupId, update.userId] as const;
  const answers = await transaction.run(...before, putCall(project, update, context, null));
  const [row] = answers.at(-1) as Row[];
  const readEligibility = async () => (await transaction.run(eligibilityCall(project, [update])))[0];
  const outcome = await outcomeOf(row as Row, readEligibility);
  if (outcome === null) throw new LostRaceError('the membership began meanwhile');
  if (outcome.kind === 'rejected') return outcome;
  const usage = usageOf((row as Row).slice(4));
  const endedTo = await endOldest(transaction, member, usage, outcome.at, bounds);
  return { ...outcome, endedTo, changes: durablePresenceChanges(update, { ...outcome, endedTo }) };
}

/** The call of {@link PUT}, which records its change where it has bounds. */
function putCall(
  project: ProjectKey,
  { userId, groupId, region, location }: DurablePresenceUpdate,
  context: WriteContext,
  within: DurableBounds | null,
): Call {
  const moved = { type: 'durable_presence.moved', group: groupId, user: userId } as const;
  return [
    ...([
      PUT,
      project,
      groupId,
      userId,
      locationKey(region),
      region,
      locationKey(location),
      location,
    ] as const),
    context.now,
    bytesArray(pairKeys(location)),
    within?.locations ?? null,
    within?.bytes ?? null,
    ...originOf(context),
    textOfChanges(within === null ? [] : [moved]),
  ];
}

/**
 * The outcome of a put; null where it was not applied though the user is eligible. The eligibility that forbade it is read
 * again: what the put saw of it may be of two moments.
 */
async function outcomeOf(
  [alive, isAllowed, at, previous]: Row,
  readEligibility: () => Promise<Row[]>,
): Promise<DurablePresenceOutcome | null> {
  assertAlive(alive);
  if (at !== null) {
    return { kind: 'set', previous: previous as Json | null, at: at as number, endedTo: null, changes: [] };
  }
  if (isAllowed === true) return null;
  const eligibility = toEligibility((await readEligibility())[0] as Row);
  if (isEligible(eligibility)) throw new LostRaceError('the eligibility changed meanwhile');
  return { kind: 'rejected', eligibility };
}
