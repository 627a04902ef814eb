/** The bounds of durable presence on PostgreSQL: several processes, older versions, and the disk space. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalLocation, limits } from '@rollcall/protocol';
import type { DurableBounds } from '../../src/store/durable-bounds.ts';
import { locationKey, pairKeys } from '../../src/store/postgres/presence/postgres-location-keys.ts';
import type { Store } from '../../src/store/store.ts';
import { newRoster, type Roster } from '../contract/store/roster.ts';
import { BY_TEST } from '../support/origin.ts';
import { skipsPostgres, withClient } from '../support/postgres.ts';
import { withPostgresStores } from './postgres-stores.ts';

const FIVE: DurableBounds = { locations: 5, bytes: 1_000 };
const MINUTE = 60_000;

/** Bytes that a location with 16 pairs takes beside its text, indexes included: see docs/operations.md. */
const BYTES_PER_LOCATION = 24 * 1_024;

interface Scene {
  readonly url: string;
  readonly roster: Roster;
  readonly stores: readonly Store[];
}

/** A group of ann and bob, and several processes. */
function withScene(
  bounds: DurableBounds,
  processes: number,
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  const body = async (stores: readonly Store[], url: string) => {
    const roster = await newRoster(stores[0] as Store);
    await roster.groupOf('g', 'ann', 'bob');
    await use({ url, roster, stores });
  };
  return withPostgresStores(processes, body, bounds);
}

const page = (name: string | number) => canonicalLocation({ page: `${name}` });

async function put({ roster, stores }: Scene, location: string, now: number, process = 0, region = location) {
  const update = { userId: 'ann', groupId: 'g', region, location };
  const store = stores[process] as Store;
  const outcome = await store.durablePresence.put(roster.key, update, { now, revision: 'p', ...BY_TEST });
  assert.ok(outcome.kind === 'set');
  return outcome;
}

/** Writes locations with the times `first`, … as a process of the version before does, which counts nothing. */
function putUncounted({ url, roster }: Scene, first: number, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => first + index);
  const locations = numbers.map(page);
  const hashes = locations.map(locationKey);
  const pairs = locations.flatMap(pairKeys);
  return withClient(url, async (client) => {
    await client.query(
      `INSERT INTO durable_presence
        (project_id, group_id, user_id, region_hash, region, location_hash, location, updated_at)
        SELECT $1, 'g', 'ann', w.hash, w.location, w.hash, w.location, w.at
        FROM unnest($2::bytea[], $3::text[], $4::bigint[]) AS w(hash, location, at)`,
      [roster.key, hashes, locations, numbers],
    );
    await client.query(
      `INSERT INTO durable_pairs (project_id, group_id, user_id, region_hash, pair_hash, pair_hashes, updated_at)
        SELECT $1, 'g', 'ann', w.hash, w.pair, ARRAY[w.pair], w.at
        FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS w(hash, pair, at)`,
      [roster.key, hashes, pairs, numbers],
    );
  });
}

/** The names of the user's pages, the oldest first; what is counted of them, and their pairs, have to be right. */
async function pages({ url }: Scene): Promise<string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query(
      'SELECT location, region_hash FROM durable_presence ORDER BY updated_at, region_hash',
    );
    const pairs = await client.query('SELECT DISTINCT region_hash FROM durable_pairs');
    const hashes = (found: { region_hash: Buffer }[]) =>
      found.map((row) => row.region_hash.toString('hex')).sort();
    assert.deepEqual(hashes(pairs.rows), hashes(rows));
    return rows.map(({ location }) => JSON.parse(location).page);
  });
}

const usage = ({ url }: Scene) =>
  withClient(url, async (client) => {
    const counted = await client.query('SELECT locations, bytes FROM durable_usage');
    const actual = await client.query(
      'SELECT count(*)::integer AS locations, sum(octet_length(location))::integer AS bytes FROM durable_presence',
    );
    return [counted.rows, actual.rows];
  });

describe('the bounds of durable presence on PostgreSQL', { skip: skipsPostgres }, () => {
  test('the bounds of durable presence apply while two processes with different clocks write, and the last of all commits is the latest', () =>
    withScene(FIVE, 2, async (scene) => {
      const writers = [0, 1].map(async (process) => {
        const times: [name: string, at: number][] = [];
        for (let number = 0; number < 40; number += 1) {
          const name = `${process} ${number}`;
          const within = number % 4 === 3 ? canonicalLocation({ site: 's' }) : page(name);
          const { at } = await put(scene, page(name), 10_000 + number - 900 * process, process, within);
          times.push([name, at]);
        }
        assert.deepEqual(
          times,
          [...times].sort(([, a], [, b]) => a - b),
          'times of one process go up',
        );
        return times;
      });
      const times = (await Promise.all(writers)).flat();
      assert.equal(new Set(times.map(([, at]) => at)).size, times.length, 'no two have the same time');
      const found = await pages(scene);
      assert.equal(found.length, 5);
      const [latest] = times.toSorted(([, a], [, b]) => b - a);
      assert.equal(found.at(-1), latest?.[0]);
      const [counted, actual] = await usage(scene);
      assert.deepEqual(counted, actual);
    }));

  test('durable locations from before locations were counted end when a bound is exceeded', () =>
    withScene(FIVE, 1, async (scene) => {
      await putUncounted(scene, 1, 30);
      const { at, endedTo } = await put(scene, page('new'), 5);
      assert.deepEqual([at, endedTo], [31, 26]);
      assert.deepEqual(await pages(scene), ['27', '28', '29', '30', 'new']);
      const [counted, actual] = await usage(scene);
      assert.deepEqual(counted, actual);
    }));

  test('durable locations of an older version, which does not count, end when a bound is exceeded the next time', () =>
    withScene(FIVE, 1, async (scene) => {
      await put(scene, page('first'), 1_000);
      await putUncounted(scene, 1, 30);
      for (const name of ['a', 'b', 'c', 'd']) await put(scene, page(name), 1_000);
      assert.equal((await pages(scene)).length, 35);
      await put(scene, page('e'), 2_000 + MINUTE);
      assert.deepEqual(await pages(scene), ['a', 'b', 'c', 'd', 'e']);
      const [counted, actual] = await usage(scene);
      assert.deepEqual(counted, actual);
    }));

  test('no durable location ends too early when an older version has removed counted locations', () =>
    withScene(FIVE, 1, async (scene) => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await put(scene, page(name), 1_000);
      await withClient(scene.url, async (client) => {
        await client.query('DELETE FROM durable_presence');
        await client.query('DELETE FROM durable_pairs');
      });
      for (const name of ['f', 'g', 'h']) {
        const { endedTo } = await put(scene, page(name), 2_000 + MINUTE);
        assert.equal(endedTo, null);
      }
      assert.deepEqual(await pages(scene), ['f', 'g', 'h']);
    }));

  test('very many durable locations beyond a bound end in steps, so that the cost of each write is bounded', () =>
    withScene(FIVE, 1, async (scene) => {
      await putUncounted(scene, 1, 4_100);
      const left: number[] = [];
      for (const name of ['a', 'b', 'c']) {
        await put(scene, page(name), 10_000);
        left.push((await pages(scene)).length);
      }
      assert.deepEqual(left, [2_101, 102, 5]);
      assert.deepEqual(await pages(scene), ['4099', '4100', 'a', 'b', 'c']);
    }));

  test('a durable location with the most pairs takes at most 24 KiB of disk beside its text', () =>
    withScene(
      { locations: limits.DURABLE_LOCATIONS_MAX, bytes: limits.DURABLE_LOCATIONS_MAX_BYTES },
      1,
      async (scene) => {
        const count = 500;
        const keys = Array.from({ length: 16 }, (_, key) => String.fromCharCode(97 + key));
        for (let number = 0; number < count; number += 1) {
          const pairs = keys.map((key, index) => [key, index === 0 ? `${number}` : '']);
          await put(scene, canonicalLocation(Object.fromEntries(pairs)), number);
        }
        const { rows } = await withClient(scene.url, (client) =>
          client.query(
            `SELECT (pg_total_relation_size('durable_presence') + pg_total_relation_size('durable_pairs'))::integer AS n`,
          ),
        );
        const each = rows[0].n / count;
        assert.ok(each <= BYTES_PER_LOCATION, `${each} bytes`);
      },
    ));
});
