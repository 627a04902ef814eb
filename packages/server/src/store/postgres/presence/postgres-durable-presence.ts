import type { LocationFilter } from '../../../values/location-filter.ts';
import type {
  DurablePresence,
  DurablePresenceStore,
  DurablePresenceUpdate,
} from '../../ports/durable-presence.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { rowOf } from '../postgres-lists.ts';
import { bytesArray } from '../postgres-text.ts';
import { changesIn, putDurablePresences } from './postgres-durable-presence-lists.ts';
import { putDurablePresence } from './postgres-durable-presence-writes.ts';
import { locationKey, pairKeys } from './postgres-location-keys.ts';

/** Entries of a pair that are counted to find the rarest of several. */
const COUNTED = 1_000;

/** The key of the location that a step of the walk has found. */
const KEY_IN_WALK = 'r.group_id = $2 AND r.user_id = walk.user_id AND r.region_hash = walk.region_hash';

/**
 * One statement that steps from user to user: `locations` are those to step through, `newest` those of one user that pass.
 * However many locations a user has, each step is an index lookup, and the walk ends with the page.
 */
const listSql = (locations: string, newest: string, before = '') => `
  WITH RECURSIVE ${before} walk (user_id, region_hash, found) AS (
    SELECT $3::text COLLATE "C", NULL::bytea, 0::bigint
    UNION ALL
    SELECT next.user_id, latest.region_hash,
      walk.found + CASE WHEN latest.region_hash IS NOT NULL THEN 1 ELSE 0 END
    FROM walk
      CROSS JOIN LATERAL (
        SELECT d.user_id FROM ${locations} AND d.user_id > walk.user_id ORDER BY d.user_id LIMIT 1) next
      LEFT JOIN LATERAL (
        SELECT d.region_hash FROM ${newest} AND d.user_id = next.user_id
          AND (SELECT u.status FROM users u WHERE u.project_id = $1 AND u.id = next.user_id) = 'active'
        ORDER BY d.updated_at DESC LIMIT 1) latest ON TRUE
    WHERE walk.found < $4::bigint)
  SELECT walk.user_id, d.location, d.updated_at FROM walk
    ${rowOf('durable_presence', 'd', 'r.location, r.updated_at', KEY_IN_WALK)}
  WHERE walk.region_hash IS NOT NULL ORDER BY walk.user_id`;

const ALL = 'durable_presence d WHERE d.project_id = $1 AND d.group_id = $2';
const LIST_ALL = listSql(ALL, ALL);

const EXACT = `${ALL} AND d.location_hash = $5 AND d.location = $6`;
const LIST_EXACT = listSql(EXACT, EXACT);

/** The locations that have the rarest of the pairs $5. */
const WITH_PAIR = `durable_pairs d WHERE d.project_id = $1 AND d.group_id = $2
  AND d.pair_hash = (SELECT rarest.pair_hash FROM rarest)`;
const WITH_ALL_PAIRS = `${WITH_PAIR} AND d.pair_hashes @> $5::bytea[]`;
const RAREST = `rarest (pair_hash) AS (
  SELECT wanted.pair_hash FROM unnest($5::bytea[]) AS wanted(pair_hash)
  ORDER BY (SELECT count(*) FROM (
    SELECT 1 FROM durable_pairs d WHERE d.project_id = $1 AND d.group_id = $2 AND d.pair_hash = wanted.pair_hash
    LIMIT ${COUNTED}) counted)
  LIMIT 1),`;
const LIST_PARTIAL = listSql(WITH_PAIR, WITH_ALL_PAIRS, RAREST);

const LATEST = `
  SELECT user_id, location, updated_at FROM durable_presence
  WHERE project_id = $1 AND group_id = $2 AND user_id = $3 ORDER BY updated_at DESC LIMIT 1`;

export function durablePresenceStore({ database, durableBounds }: PostgresEngine): DurablePresenceStore {
  const put: DurablePresenceStore['put'] = (project, update, context) =>
    database.operation({ project, row: rowOfMember(update) }, (attempt) =>
      putDurablePresence(attempt, project, update, context, durableBounds),
    );
  return {
    put,
    async putMany(project, updates, context) {
      const [first, second] = updates;
      if (first === undefined) return { outcomes: [], changes: [] };
      const row = rowOfMember(first);
      const isOfOne = updates.every((each) => rowOfMember(each) === row);
      const target = isOfOne ? { project, row } : { project };
      // One update is one statement.
      const outcomes =
        second === undefined
          ? [await put(project, first, context)]
          : await database.transaction(target, (transaction) =>
              putDurablePresences(transaction, project, updates, context, durableBounds),
            );
      return { outcomes, changes: changesIn(outcomes) };
    },
    async list(project, groupId, filter, { after, limit }) {
      const page = [project, groupId, after ?? '', limit] as const;
      return (await database.read(...filtered(page, filter))).map(toDurable);
    },
    find: (project, groupId, userId) => database.readOne(toDurable, LATEST, project, groupId, userId),
  };
}

/** The writes of a member's durable presence wait for each other here. */
const rowOfMember = ({ groupId, userId }: DurablePresenceUpdate): string => `presence ${groupId} ${userId}`;

function filtered(page: readonly unknown[], filter: LocationFilter): [string, ...unknown[]] {
  if (filter === null) return [LIST_ALL, ...page];
  const { location, partial } = filter;
  return partial
    ? [LIST_PARTIAL, ...page, bytesArray(pairKeys(location))]
    : [LIST_EXACT, ...page, locationKey(location), location];
}

const toDurable = ([userId, location, at]: Row) => ({ userId, location, at }) as DurablePresence;
