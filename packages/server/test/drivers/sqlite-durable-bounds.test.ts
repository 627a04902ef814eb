/** Durable presence in the embedded engine: its space on disk, and stores of versions without bounds. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { locationKeys } from '../../src/store/sqlite/presence/sqlite-location-keys.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { newRoster } from '../contract/store/roster.ts';
import { BY_TEST } from '../support/origin.ts';
import { withDirectory, withFile, withStore } from './sqlite-directory.ts';

const KIB = 1_024;
const { DURABLE_LOCATIONS_MAX: MOST, DURABLE_LOCATIONS_MAX_BYTES: MOST_BYTES } = limits;

const put = (store: Store, key: ProjectKey, location: string, now: number) =>
  store.durablePresence.put(
    key,
    { userId: 'ann', groupId: 'g', region: location, location },
    { now, revision: 'p', ...BY_TEST },
  );

/** A location with a text of 8 KiB in 16 pairs. */
function large(number: number): string {
  const pairs = Array.from({ length: 16 }, (_, key) => [`k${key}`, `${number}`.padEnd(503, 'x')]);
  return canonicalLocation(Object.fromEntries(pairs));
}

/** A location with 16 pairs and as little text as there can be. */
function wide(number: number): string {
  const pairs = Array.from({ length: 16 }, (_, key) => [
    String.fromCharCode(97 + key),
    key === 0 ? `${number}` : '',
  ]);
  return canonicalLocation(Object.fromEntries(pairs));
}

describe('the disk space of durable presence', () => {
  /** The bytes of the store's file, without recorded changes, after so many updates, each with a location of its own. */
  async function bytesAfter(dataDir: string, key: ProjectKey, first: number, count: number, of = large) {
    await withStore(dataDir, async (store) => {
      for (let start = first; start < first + count; start += 500) {
        const some = Array.from(
          { length: Math.min(500, first + count - start) },
          (_, index) => start + index,
        );
        await Promise.all(some.map((number) => put(store, key, of(number), number)));
      }
    });
    return withFile(dataDir, (database) => {
      const one = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
      const recorded = one("SELECT sum(pgsize) FROM dbstat WHERE name = 'changes'");
      return one('PRAGMA page_count') * one('PRAGMA page_size') - recorded;
    });
  }

  async function emptyGroup(dataDir: string): Promise<ProjectKey> {
    return withStore(dataDir, async (store) => {
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      return roster.key;
    });
  }

  test('the disk space of durable presence is bounded however many locations are set, since new locations reuse the space of those that end', () =>
    withDirectory(async (dataDir) => {
      const key = await emptyGroup(dataDir);
      const full = await bytesAfter(dataDir, key, 0, 200);
      assert.ok(full <= 4 * MOST_BYTES, `${full} bytes for 1 MiB of text`);
      const later = await bytesAfter(dataDir, key, 200, 1_000);
      assert.ok(later <= 1.05 * full, `${later} bytes, and ${full} when the bound was reached first`);
    }));

  test('the disk space of durable presence is at most 1 KiB for each location beside the text, with as many pairs as there can be', () =>
    withDirectory(async (dataDir) => {
      const key = await emptyGroup(dataDir);
      const before = await bytesAfter(dataDir, key, 0, 0, wide);
      const count = 5_000;
      const after = await bytesAfter(dataDir, key, 0, count, wide);
      const text = 2 * Buffer.byteLength(wide(count));
      const each = (after - before) / count - text;
      assert.ok(each <= KIB, `${each} bytes`);
    }));
});

describe('a store of the schema without bounds', () => {
  const MIGRATIONS = new URL('../../src/store/sqlite/migrations/', import.meta.url);
  const MEMBERS = ['ann', 'bob', 'cid'] as const;
  type Row = readonly [user: (typeof MEMBERS)[number], location: string, at: number];

  /** A group with these locations, as the version before stored them. */
  function makeSecond(dataDir: string, rows: readonly Row[]): void {
    withFile(dataDir, (database) => {
      database.function('place_keys', (location) => JSON.stringify([...locationKeys(String(location))]));
      for (const name of ['0001-initial.sql', '0002-durable-places.sql'])
        database.exec(readFileSync(new URL(name, MIGRATIONS), 'utf8'));
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = 2; BEGIN;
        INSERT INTO customers VALUES ('c', 's', 'C', 1);
        INSERT INTO projects (project_no, id, customer_id, name, secret, created_at) VALUES (1, 'p', 'c', 'P', 's', 1);
        INSERT INTO groups VALUES (5, 1, 'g', 'G', 'active', '{}', NULL, ${MEMBERS.length}, 'r')`);
      for (const [index, id] of MEMBERS.entries()) {
        database.exec(`
          INSERT INTO users (user_no, project_no, id, status, metadata, created_at, updated_at, revision)
            VALUES (${index + 7}, 1, '${id}', 'active', '{}', 1, 1, 'r');
          INSERT INTO memberships VALUES (5, '${id}', ${index + 7}, NULL, NULL);
          INSERT INTO user_groups VALUES (${index + 7}, 'g', 5)`);
      }
      const presence = database.prepare(`
        INSERT INTO durable_presence (group_no, user_id, region, user_no, location, updated_at) VALUES (5, ?, ?, ?, ?, ?)`);
      const insertKey = database.prepare('INSERT INTO durable_places VALUES (5, ?, ?, ?)');
      for (const [user, location, at] of rows) {
        const { lastInsertRowid } = presence.run(user, location, MEMBERS.indexOf(user) + 7, location, at);
        for (const key of locationKeys(location)) insertKey.run(key, user, lastInsertRowid);
      }
      database.exec('COMMIT');
    });
  }

  const page = (number: number) => canonicalLocation({ page: `${number}` });

  test('a store of the schema without bounds has the newest durable locations within the bounds after the migration, with their counts, and a smaller file', () =>
    withDirectory(async (dataDir) => {
      const rows: Row[] = [
        ...Array.from({ length: MOST + 20 }, (_, index) => ['ann', page(index), 1_000 + index] as const),
        ...Array.from({ length: 130 }, (_, index) => ['bob', large(index), 5_000 - index] as const),
        ['cid', page(0), 7],
      ];
      makeSecond(dataDir, rows);
      await withStore(dataDir, async (store) => {
        const key = (await store.projects.find('p'))?.key as ProjectKey;
        const records = (await Array.fromAsync(store.transfer.export())).flat();
        const of = (user: string) =>
          records.flatMap((each) => (each.type === 'durable_presence' && each.user === user ? [each] : []));
        const sorted = (user: string) =>
          of(user)
            .map(({ updated_at }) => updated_at)
            .sort((a, b) => a - b);
        assert.deepEqual([sorted('ann').length, sorted('ann')[0]], [MOST, 1_020]);
        assert.deepEqual([sorted('bob').length, sorted('bob')[0]], [128, 5_000 - 127]);
        assert.ok(of('bob').every(({ region, location }) => isDeepStrictEqual(region, location)));
        assert.deepEqual(sorted('cid'), [7]);
        const at = async (location: string) => {
          const filter = { location, partial: true };
          const found = await store.durablePresence.list(key, 'g', filter, { after: null, limit: 10 });
          return found.map(({ userId }) => userId);
        };
        assert.deepEqual([await at(page(0)), await at(page(20))], [['cid'], ['ann']]);
        const ann = await put(store, key, page(MOST + 20), 1);
        assert.deepEqual(ann, {
          kind: 'set',
          previous: null,
          at: 1_000 + MOST + 20,
          latestBefore: 1_000 + MOST + 19,
          endedTo: 1_020,
          changes: [
            { type: 'durable_presence.moved', group: 'g', user: 'ann' },
            { type: 'durable_presence.removed', group: 'g', user: 'ann' },
          ],
        });
      });
      withFile(dataDir, (database) => {
        const orphans =
          'SELECT count(*) AS n FROM durable_places WHERE presence_no NOT IN (SELECT presence_no FROM durable_presence)';
        assert.equal(database.prepare(orphans).get()?.n, 0);
        const usage = database
          .prepare('SELECT user_id, locations, bytes FROM durable_usage ORDER BY user_id')
          .all();
        assert.deepEqual(
          usage.map((row) => Object.values(row)),
          database
            .prepare(
              'SELECT user_id, count(*), sum(octet_length(location)) FROM durable_presence GROUP BY 1 ORDER BY 1',
            )
            .all()
            .map((row) => Object.values(row)),
        );
        assert.deepEqual(Object.values(database.prepare('PRAGMA integrity_check').get() ?? {}), ['ok']);
      });
    }));
});
