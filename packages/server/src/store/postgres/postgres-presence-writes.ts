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
import { ALIVE, assertAlive } from './postgres-outcomes.ts';
import { pairKeys, placeKey } from './postgres-place-keys.ts';
import { STANDING, toStanding } from './postgres-standings.ts';
import { bytesArray } from './postgres-text.ts';

/**
 * Sets a place, with its pairs, where the user may be present, in one statement. Holds the membership, so that whoever
 * ends it meanwhile waits and finds the place. (Whether the project is there, whether it was set, the place before.)
 */
const PUT = `
  WITH member AS (
    SELECT 1 FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id = $3 FOR KEY SHARE),
  put AS (
    INSERT INTO durable_presence (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8
    WHERE ${ALIVE} AND EXISTS (SELECT 1 FROM member)
      AND (SELECT status FROM users WHERE project_id = $1 AND id = $3) = 'active'
      AND (SELECT status FROM groups WHERE project_id = $1 AND id = $2) = 'active'
    ON CONFLICT (project_id, group_id, user_id, region_hash) DO UPDATE SET
      previous_location = durable_presence.location, location_hash = excluded.location_hash,
      location = excluded.location, updated_at = excluded.updated_at
    RETURNING previous_location),
  pairs AS (
    INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
    SELECT $1, $2, $3, $4, pair.hash, $9, $8 FROM put CROSS JOIN unnest($9::bytea[]) AS pair(hash)
    ON CONFLICT (project_id, group_id, user_id, region_hash, pair_hash) DO UPDATE SET
      pair_hashes = excluded.pair_hashes, updated_at = excluded.updated_at)
  SELECT ${ALIVE}, EXISTS (SELECT 1 FROM put), (SELECT previous_location FROM put)`;

/** Removes the pairs that the place of a region has no more. */
const REMOVE_OLD_PAIRS = `
  DELETE FROM durable_pairs
  WHERE project_id = $1 AND group_id = $2 AND user_id = $3 AND region_hash = $4 AND pair_hash <> ALL($5::bytea[])`;

/**
 * Sets durable presence: one statement where the place is its own region, since it then never changes; two round trips
 * where the place may have moved within its region.
 */
export async function putDurablePresence(
  attempt: Attempt,
  project: ProjectKey,
  update: DurablePresenceUpdate,
  { now }: WriteStamp,
): Promise<DurablePresenceOutcome> {
  const { userId, groupId, region, location } = update;
  const place = [project, groupId, userId, placeKey(region)] as const;
  const pairs = bytesArray(pairKeys(location));
  const put: Call = [PUT, ...place, region, placeKey(location), location, now, pairs];
  if (region === location) {
    const [row] = await attempt.run(...put);
    return settle(row as Row, () => attempt.run(STANDING, project, groupId, userId));
  }
  return attempt.transaction('small', async (transaction) => {
    const [[row]] = await transaction.run(put, [REMOVE_OLD_PAIRS, ...place, pairs]);
    const outcome = await settle(row as Row, async () => {
      const [standing] = await transaction.run([STANDING, project, groupId, userId]);
      return standing;
    });
    if (outcome.kind === 'set') await transaction.commit();
    return outcome;
  });
}

/** What a put came to. The standing that forbade it is read anew: what the put saw of it may be of two moments. */
async function settle(
  [alive, isSet, previous]: Row,
  readStanding: () => Promise<Row[]>,
): Promise<DurablePresenceOutcome> {
  assertAlive(alive);
  if (isSet === true) return { kind: 'set', previous: previous as Json | null };
  const standing = toStanding((await readStanding())[0] as Row);
  if (mayBePresent(standing)) throw new LostRaceError('the standing changed meanwhile');
  return { kind: 'refused', standing };
}

const mayBePresent = ({ user, group, incarnation }: Standing): boolean =>
  user === 'active' && group === 'active' && incarnation !== null;
