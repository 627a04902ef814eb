import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { durablePresenceChanges } from '../../changes/changes.ts';
import type { DurableBounds } from '../../durable-bounds.ts';
import type { DurablePresenceOutcome, DurablePresenceUpdate } from '../../ports/durable-presence.ts';
import { isEligible } from '../../ports/eligibility.ts';
import type { Column } from '../../transfer-records.ts';
import type { WriteContext } from '../../write-context.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { Attempt, Transaction } from '../connections/postgres-database.ts';
import { LostRaceError } from '../connections/postgres-errors.ts';
import { originOf, recordCalls, recordedParts, textOfChanges } from '../postgres-changes.ts';
import { listed, rowsIn } from '../postgres-lists.ts';
import { ALIVE, assertAlive } from '../postgres-row-writes.ts';
import { arraysOf, bytesArray } from '../postgres-text.ts';
import { endOldest, LOCK_USAGES, memberColumns, usageOf } from './postgres-durable-bounds.ts';
import { eligibilityCall, toEligibility } from './postgres-eligibility.ts';
import { locationKey, pairKeys } from './postgres-location-keys.ts';

/** The columns of an update, each a parameter from $2 on. */
const COLUMNS = [
  ...[
    'group_id',
    'user_id',
    'region_hash',
    'region',
    'location_hash',
    'location',
    'pairs',
    'locations_max',
    'bytes_max',
  ],
  ...['at', 'actor', 'request_id', 'change'],
] as const;

/** An SQL condition: the row `r` is of the member of the update `w`. */
export const OF_MEMBER = 'r.project_id = $1 AND r.group_id = w.group_id AND r.user_id = w.user_id';

/** Parts of a WITH clause that set the location of the region of each row of `rows`, with its pairs, at the time in the column `at`. */
export const locationWrites = (rows: string, at: string) => `
  put AS (
    INSERT INTO durable_presence (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
    SELECT $1, group_id, user_id, region_hash, region, location_hash, location, ${at} FROM ${rows}
    ON CONFLICT (project_id, group_id, user_id, region_hash) DO UPDATE SET
      location_hash = excluded.location_hash, location = excluded.location,
      updated_at = excluded.updated_at),
  pairs AS (
    INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
    SELECT $1, w.group_id, w.user_id, w.region_hash, pair.hash, w.pairs, w.${at}
    FROM ${rows} AS w CROSS JOIN LATERAL unnest(w.pairs) AS pair(hash)
    ON CONFLICT (project_id, group_id, user_id, region_hash, pair_hash) DO UPDATE SET
      pair_hashes = excluded.pair_hashes, updated_at = excluded.updated_at)`;

/**
 * Sets locations of different members, with their pairs, where the user is eligible. It locks the memberships, so that a
 * transaction that ends one waits and finds the location. With bounds, a location is set only within them,
 * and where what this statement has seen is what is counted, so that no other write came in between: the pairs that the region has
 * no more are those that it has seen. Without bounds (null) what is counted has been locked before. `change` is recorded where the location
 * is another; `[]` where it is recorded later. (For each update: whether the project is there, whether the user is eligible, the time, the
 * location before, the user's latest time before, what is counted now.)
 */
const PUT = `
  WITH updates AS MATERIALIZED (
    SELECT group_id, user_id, region_hash::bytea AS region_hash, region, location_hash::bytea AS location_hash, location,
      pairs::bytea[] AS pairs, locations_max::integer AS locations_max, bytes_max::integer AS bytes_max, at::bigint AS at,
      actor, request_id, change, number
    FROM ${rowsIn(COLUMNS)}),
  found AS MATERIALIZED (
    SELECT w.*, usage.locations, usage.bytes, usage.latest_at, before.location AS location_before,
      coalesce(usage.latest_at, (
        SELECT r.updated_at FROM durable_presence r WHERE ${OF_MEMBER} ORDER BY r.updated_at DESC LIMIT 1)) AS latest,
      (SELECT u.status FROM users u WHERE u.project_id = $1 AND u.id = w.user_id) = 'active'
        AND (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = w.group_id) = 'active'
        AND member.is_locked AND ${ALIVE} AS is_allowed
    FROM (SELECT * FROM updates ORDER BY group_id COLLATE "C", user_id COLLATE "C") AS w
      LEFT JOIN LATERAL (SELECT TRUE AS is_locked FROM memberships r WHERE ${OF_MEMBER} FOR KEY SHARE) AS member ON TRUE
      LEFT JOIN LATERAL (
        SELECT r.locations, r.bytes, r.latest_at FROM durable_usage r WHERE ${OF_MEMBER} OFFSET 0) AS usage ON TRUE
      LEFT JOIN LATERAL (
        SELECT r.location FROM durable_presence r WHERE ${OF_MEMBER} AND r.region_hash = w.region_hash OFFSET 0) AS before ON TRUE),
  wanted AS MATERIALIZED (
    SELECT w.*, greatest(at, latest + 1) AS next_at,
      CASE WHEN latest IS NULL THEN 1
        ELSE locations + CASE WHEN location_before IS NULL THEN 1 ELSE 0 END END AS next_locations,
      CASE WHEN latest IS NULL THEN 0
        ELSE bytes - coalesce(octet_length(location_before), 0) END + octet_length(location) AS next_bytes
    FROM found w WHERE is_allowed),
  counted AS (
    INSERT INTO durable_usage (project_id, group_id, user_id, locations, bytes, latest_at, counted_at)
    SELECT $1, group_id, user_id, next_locations, next_bytes, next_at, next_at FROM wanted
    WHERE locations_max IS NULL OR (next_locations <= locations_max AND next_bytes <= bytes_max)
    ON CONFLICT (project_id, group_id, user_id) DO UPDATE SET
      locations = excluded.locations, bytes = excluded.bytes, latest_at = excluded.latest_at,
      counted_at = coalesce(durable_usage.counted_at, excluded.counted_at)
    WHERE EXISTS (
      SELECT 1 FROM wanted w WHERE w.group_id = excluded.group_id AND w.user_id = excluded.user_id
        AND (w.locations_max IS NULL OR w.latest_at = durable_usage.latest_at))
    RETURNING group_id, user_id, locations, bytes, latest_at, counted_at),
  applied AS MATERIALIZED (
    SELECT w.number, w.group_id, w.user_id, w.region_hash, w.region, w.location_hash, w.location, w.location_before, w.pairs,
      w.at, w.actor, w.request_id, w.change, counted.locations, counted.bytes, counted.latest_at, counted.counted_at
    FROM counted JOIN wanted w ON w.group_id = counted.group_id AND w.user_id = counted.user_id),
  ${locationWrites('applied', 'latest_at')},
  gone AS (
    DELETE FROM durable_pairs t USING ${listed('applied.*', 'applied')}
    WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.user_id AND t.region_hash = w.region_hash
      AND t.pair_hash <> ALL(w.pairs)),
  ${recordedParts(`
    SELECT at, actor, request_id, ARRAY[change] FROM applied
    WHERE change <> '[]' AND location_before IS DISTINCT FROM location ORDER BY number`)}
  SELECT ${ALIVE}, w.is_allowed, applied.latest_at, w.location_before, w.latest, applied.locations, applied.bytes, applied.counted_at
  FROM found w LEFT JOIN applied ON applied.number = w.number ORDER BY w.number`;

/**
 * Sets durable presence: one statement, for other such updates too, where the bounds are met. Otherwise what is counted of the
 * member is locked first, so that what exceeds the bounds goes in the same transaction: three round trips, and more where very many
 * locations end.
 */
export async function putDurablePresence(
  attempt: Attempt,
  project: ProjectKey,
  update: DurablePresenceUpdate,
  context: WriteContext,
  bounds: DurableBounds,
): Promise<DurablePresenceOutcome> {
  const put: Put = { update, context, within: bounds };
  const row =
    (await attempt.merge(putCalls, project, put)) ?? (await attempt.run(...putCall(project, [put])))[0];
  const outcome = await outcomeOf(row as Row, () => attempt.run(...eligibilityCall(project, [update])));
  if (outcome?.kind === 'set') return { ...outcome, changes: durablePresenceChanges(update, outcome) };
  if (outcome !== null) return outcome;
  return attempt.transaction(async (transaction) => {
    const lock: Call = [LOCK_USAGES, project, ...memberColumns([update])];
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
  const answers = await transaction.run(...before, putCall(project, [{ update, context, within: null }]));
  const [row] = answers.at(-1) as Row[];
  const readEligibility = async () => (await transaction.run(eligibilityCall(project, [update])))[0];
  const outcome = await outcomeOf(row as Row, readEligibility);
  if (outcome === null) throw new LostRaceError('the membership began meanwhile');
  if (outcome.kind === 'rejected') return outcome;
  const usage = usageOf((row as Row).slice(5));
  const endedTo = await endOldest(transaction, member, usage, outcome.at, bounds);
  return { ...outcome, endedTo, changes: durablePresenceChanges(update, { ...outcome, endedTo }) };
}

/** An update, which records its change where it has bounds. */
interface Put {
  readonly update: DurablePresenceUpdate;
  readonly context: WriteContext;
  readonly within: DurableBounds | null;
}

const putCalls = (project: ProjectKey, puts: readonly Put[]): Call[] => [putCall(project, puts)];

const putCall = (project: ProjectKey, puts: readonly Put[]): Call => [
  PUT,
  project,
  ...arraysOf(puts.map(columnsOf)),
];

/** By {@link COLUMNS}. */
function columnsOf({ update: { userId, groupId, region, location }, context, within }: Put): Column[] {
  const moved = { type: 'durable_presence.moved', group: groupId, user: userId } as const;
  return [
    ...[groupId, userId, locationKey(region), region, locationKey(location), location],
    ...[bytesArray(pairKeys(location)), within?.locations ?? null, within?.bytes ?? null],
    ...originOf(context),
    textOfChanges(within === null ? [] : [moved]),
  ];
}

/**
 * The outcome of a put; null where it was not applied though the user is eligible. The eligibility that forbade it is read
 * again: what the put saw of it may be of two moments.
 */
async function outcomeOf(
  [alive, isAllowed, at, previous, latest]: Row,
  readEligibility: () => Promise<Row[]>,
): Promise<DurablePresenceOutcome | null> {
  assertAlive(alive);
  if (at !== null) {
    return {
      ...{ kind: 'set', previous: previous as Json | null, at: at as number },
      ...{ latestBefore: latest as number | null, endedTo: null, changes: [] },
    };
  }
  if (isAllowed === true) return null;
  const eligibility = toEligibility((await readEligibility())[0] as Row);
  if (isEligible(eligibility)) throw new LostRaceError('the eligibility changed meanwhile');
  return { kind: 'rejected', eligibility };
}
