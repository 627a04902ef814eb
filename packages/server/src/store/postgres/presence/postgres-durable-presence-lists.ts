import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { durablePresenceChanges } from '../../changes/changes.ts';
import type { DurableBounds } from '../../durable-bounds.ts';
import type { DurablePresenceOutcome, DurablePresenceUpdate } from '../../ports/durable-presence.ts';
import { isEligible } from '../../ports/eligibility.ts';
import type { WriteContext } from '../../write-context.ts';
import { type Call, planEachTime, type Row } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { LostRaceError } from '../connections/postgres-errors.ts';
import { recordCalls } from '../postgres-changes.ts';
import { listed } from '../postgres-lists.ts';
import { ALIVE, assertAlive } from '../postgres-row-writes.ts';
import { bytesArray, plainArray, textArray } from '../postgres-text.ts';
import { exceeds, LOCK_USAGES, memberColumns } from './postgres-durable-bounds.ts';
import { locationWrites, OF_MEMBER, putLocked } from './postgres-durable-presence-writes.ts';
import { eligibilityCall, toEligibility } from './postgres-eligibility.ts';
import { locationKey, pairKeys } from './postgres-location-keys.ts';

/**
 * Of each update: whether the project is there, whether what is counted of the member is locked, what that is, the time of
 * the member's latest location, and the location of the region $4. The range and the order of the region leave the primary key
 * alone: without statistics, an equality is as cheap by an index that has the whole group between its columns.
 */
const FIND_BEFORE = `
  SELECT ${ALIVE}, usage.user_id IS NOT NULL, usage.locations, usage.bytes,
    coalesce(usage.latest_at, (
      SELECT r.updated_at FROM durable_presence r WHERE ${OF_MEMBER} ORDER BY r.updated_at DESC LIMIT 1)),
    (SELECT r.location FROM durable_presence r
      WHERE ${OF_MEMBER} AND r.region_hash >= w.region_hash AND r.region_hash <= w.region_hash
      ORDER BY r.region_hash LIMIT 1)
  FROM unnest($2::text[], $3::text[], $4::bytea[]) WITH ORDINALITY AS w(group_id, user_id, region_hash, position)
    LEFT JOIN LATERAL (
      SELECT r.user_id, r.locations, r.bytes, r.latest_at FROM durable_usage AS r WHERE ${OF_MEMBER} OFFSET 0) AS usage
    ON TRUE
  ORDER BY w.position`;

/** Sets the locations of regions, with their pairs, each as the text of an array. Each region comes once. */
const PUT_ALL = `
  WITH updates AS MATERIALIZED (
    SELECT group_id, user_id, region_hash, region, location_hash, location, pairs::bytea[] AS pairs, updated_at
    FROM unnest($2::text[], $3::text[], $4::bytea[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::bigint[])
      AS each(group_id, user_id, region_hash, region, location_hash, location, pairs, updated_at)),
  ${locationWrites('updates', 'updated_at')}
  SELECT 1`;

/** Removes the pairs $5 of regions. */
const REMOVE_OLD_PAIRS = planEachTime(`
  DELETE FROM durable_pairs t
  USING ${listed('each.*', 'unnest($2::text[], $3::text[], $4::bytea[], $5::bytea[]) AS each(group_id, user_id, region_hash, pair_hash)')}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.user_id
    AND t.region_hash = w.region_hash AND t.pair_hash = w.pair_hash`);

/** Sets what is counted of members. */
const COUNT_ALL = planEachTime(`
  UPDATE durable_usage t SET locations = w.locations, bytes = w.bytes, latest_at = w.latest_at,
    counted_at = coalesce(t.counted_at, w.latest_at)
  FROM ${listed('each.*', 'unnest($2::text[], $3::text[], $4::integer[], $5::integer[], $6::bigint[]) AS each(group_id, user_id, locations, bytes, latest_at)')}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.user_id`);

type SetOutcome = Extract<DurablePresenceOutcome, { kind: 'set' }>;

/** An update with what was found before it. */
interface Found {
  readonly index: number;
  readonly update: DurablePresenceUpdate;
  /** What is counted of the member; null where that is not known. */
  readonly usage: { readonly locations: number; readonly bytes: number } | null;
  readonly latest: number | null;
  readonly before: Json | null;
}

/** A region as a list of updates leaves it. */
interface Region {
  readonly update: DurablePresenceUpdate;
  readonly at: number;
  readonly before: Json | null;
}

/** What the updates of a member make of its durable presence. */
interface Plan {
  readonly outcomes: readonly (readonly [index: number, outcome: SetOutcome])[];
  readonly regions: readonly Region[];
  readonly locations: number;
  readonly bytes: number;
  readonly latest: number;
}

/**
 * Sets many locations in one transaction: three round trips, with the same statements for any number. Where a member
 * exceeds the bounds on the way, or is not counted yet, each of its updates is written by itself in the transaction, because each
 * ends what was the oldest then.
 */
export async function putDurablePresences(
  transaction: Transaction,
  project: ProjectKey,
  updates: readonly DurablePresenceUpdate[],
  context: WriteContext,
  bounds: DurableBounds,
): Promise<DurablePresenceOutcome[]> {
  const members = [...new Map(updates.map((update) => [memberOf(update), update])).values()];
  const [, found, eligibilities] = await transaction.run(
    [LOCK_USAGES, project, ...memberColumns(members)],
    [FIND_BEFORE, project, ...memberColumns(updates), regionColumn(updates)],
    eligibilityCall(project, updates),
  );
  const outcomes: DurablePresenceOutcome[] = [];
  const eligible: Found[] = [];
  for (const [index, update] of updates.entries()) {
    const [alive, isLocked, locations, bytes, latest, before] = found[index] as Row;
    assertAlive(alive);
    const eligibility = toEligibility(eligibilities[index] as Row);
    if (!isEligible(eligibility)) {
      outcomes[index] = { kind: 'rejected', eligibility };
      continue;
    }
    if (isLocked !== true) throw new LostRaceError('the membership began meanwhile');
    const isKnown = latest === null || (locations !== null && bytes !== null);
    const usage = isKnown ? { locations: (locations ?? 0) as number, bytes: (bytes ?? 0) as number } : null;
    const rest = { latest: latest as number | null, before: before as Json | null };
    eligible.push({ index, update, usage, ...rest });
  }
  const plans: Plan[] = [];
  for (const ofMember of Map.groupBy(eligible, ({ update }) => memberOf(update)).values()) {
    const plan = planOf(ofMember, context.now, bounds);
    if (plan !== null) {
      plans.push(plan);
      for (const [index, outcome] of plan.outcomes) outcomes[index] = outcome;
      continue;
    }
    for (const { index, update } of ofMember) {
      const outcome = await putLocked(transaction, project, update, context, bounds);
      if (outcome.kind === 'rejected') throw new LostRaceError('the eligibility changed meanwhile');
      outcomes[index] = outcome;
    }
  }
  await transaction.commit([
    ...writeCalls(project, plans),
    ...recordCalls(project, changesIn(outcomes), context),
  ]);
  return outcomes;
}

/** The changes of all updates that were applied, in order. */
export const changesIn = (outcomes: readonly DurablePresenceOutcome[]) =>
  outcomes.flatMap((outcome) => (outcome.kind === 'set' ? outcome.changes : []));

/** Null where the bounds have to be enforced, or what is counted is not known. */
function planOf(ofMember: readonly Found[], now: number, bounds: DurableBounds): Plan | null {
  const [{ usage, latest: latestBefore }] = ofMember as [Found];
  if (usage === null) return null;
  let { locations, bytes } = usage;
  let latest = latestBefore;
  const outcomes: (readonly [number, SetOutcome])[] = [];
  const regions = new Map<Json, Region>();
  for (const { index, update, before: stored } of ofMember) {
    const { region, location } = update;
    const previous = regions.get(region)?.update.location ?? stored;
    const before = latest;
    const at = before === null ? now : Math.max(now, before + 1);
    latest = at;
    locations += previous === null ? 1 : 0;
    bytes += Buffer.byteLength(location) - (previous === null ? 0 : Buffer.byteLength(previous));
    if (exceeds({ locations, bytes }, bounds)) return null;
    regions.set(region, { update, at, before: stored });
    const changes = durablePresenceChanges(update, { previous, endedTo: null });
    outcomes.push([index, { kind: 'set', previous, at, latestBefore: before, endedTo: null, changes }]);
  }
  return { outcomes, regions: [...regions.values()], locations, bytes, latest: latest as number };
}

function writeCalls(project: ProjectKey, plans: readonly Plan[]): Call[] {
  if (plans.length === 0) return [];
  const regions = plans.flatMap((plan) => plan.regions);
  const updates = regions.map(({ update }) => update);
  const left = regions.flatMap(({ update, before }) => oldPairs(update, before));
  const members = plans.map(({ regions: [first] }) => (first as Region).update);
  const removal: Call = [
    ...([REMOVE_OLD_PAIRS, project, ...memberColumns(left), regionColumn(left)] as const),
    bytesArray(left.map(({ pair }) => pair)),
  ];
  return [
    [
      ...([PUT_ALL, project, ...memberColumns(updates), regionColumn(updates)] as const),
      textArray(updates.map(({ region }) => region)),
      bytesArray(updates.map(({ location }) => locationKey(location))),
      textArray(updates.map(({ location }) => location)),
      textArray(updates.map(({ location }) => bytesArray(pairKeys(location)))),
      plainArray(regions.map(({ at }) => at)),
    ],
    ...(left.length === 0 ? [] : [removal]),
    [
      ...([COUNT_ALL, project, ...memberColumns(members)] as const),
      plainArray(plans.map(({ locations }) => locations)),
      plainArray(plans.map(({ bytes }) => bytes)),
      plainArray(plans.map(({ latest }) => latest)),
    ],
  ];
}

/** The pairs of the location before that the new one does not have. */
function oldPairs(update: DurablePresenceUpdate, before: Json | null) {
  if (before === null || before === update.location) return [];
  const remaining = new Set(pairKeys(update.location).map((key) => key.toString('hex')));
  return pairKeys(before)
    .filter((key) => !remaining.has(key.toString('hex')))
    .map((pair) => ({ ...update, pair }));
}

const memberOf = ({ groupId, userId }: DurablePresenceUpdate) => JSON.stringify([groupId, userId]);

const regionColumn = (updates: readonly DurablePresenceUpdate[]) =>
  bytesArray(updates.map(({ region }) => locationKey(region)));
