/** Durable presence in the embedded engine: what it takes on the disk, and stores from before it had bounds. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { placeKeys } from '../../src/store/sqlite/sqlite-place-keys.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { ProjectKey, Store } from '../../src/store/store.ts';
import { newRoster } from '../contract/store/roster.ts';

const KIB = 1_024;
const { DURABLE_LOCATIONS_MAX: MOST, DURABLE_LOCATIONS_MAX_BYTES: MOST_BYTES } = limits;

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-bounds-'));
  try {
    await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function withStore<Result>(dataDir: string, use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openSqliteStore({ dataDir });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

function withFile<Result>(dataDir: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(dataDir, STORE_FILE));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

const put = (store: Store, key: ProjectKey, location: string, now: number) =>
  store.putDurablePresence(
    key,
    { userId: 'ann', groupId: 'g', region: location, location },
    { now, revision: 'p' },
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

describe('what durable presence takes on the disk', () => {
  /** The bytes of the store's file after so many updates, each with a location of its own. */
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
      return one('PRAGMA page_count') * one('PRAGMA page_size');
    });
  }

  async function emptyGroup(dataDir: string): Promise<ProjectKey> {
    return withStore(dataDir, async (store) => {
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      return roster.key;
    });
  }

  test('has an end however many locations are set, since those that end give their space to new ones', () =>
    withDirectory(async (dataDir) => {
      const key = await emptyGroup(dataDir);
      const full = await bytesAfter(dataDir, key, 0, 200);
      assert.ok(full <= 4 * MOST_BYTES, `${full} bytes for 1 MiB of text`);
      const later = await bytesAfter(dataDir, key, 200, 1_000);
      assert.ok(later <= 1.05 * full, `${later} bytes, and ${full} when the bound was reached first`);
    }));

  test('is at most 1 KiB for each location beside the text, with as many pairs as there can be', () =>
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

describe('a store of the schema before the bounds', () => {
  const MIGRATIONS = new URL('../../src/store/sqlite/migrations/', import.meta.url);
  const MEMBERS = ['ann', 'bob', 'cid'] as const;
  type Row = readonly [user: (typeof MEMBERS)[number], location: string, at: number];

  /** A group with these locations, as the version before kept them. */
  function makeSecond(dataDir: string, rows: readonly Row[]): void {
    withFile(dataDir, (database) => {
      database.function('place_keys', (location) => JSON.stringify([...placeKeys(String(location))]));
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
      const place = database.prepare('INSERT INTO durable_places VALUES (5, ?, ?, ?)');
      for (const [user, location, at] of rows) {
        const { lastInsertRowid } = presence.run(user, location, MEMBERS.indexOf(user) + 7, location, at);
        for (const key of placeKeys(location)) place.run(key, user, lastInsertRowid);
      }
      database.exec('COMMIT');
    });
  }

  const page = (number: number) => canonicalLocation({ page: `${number}` });

  test(
    'keeps the newest that the bounds allow, counts them, and gives back what the others took',
    { timeout: 120_000 },
    () =>
      withDirectory(async (dataDir) => {
        const rows: Row[] = [
          ...Array.from({ length: MOST + 20 }, (_, index) => ['ann', page(index), 1_000 + index] as const),
          ...Array.from({ length: 130 }, (_, index) => ['bob', large(index), 5_000 - index] as const),
          ['cid', page(0), 7],
        ];
        makeSecond(dataDir, rows);
        await withStore(dataDir, async (store) => {
          const key = (await store.findProject('p'))?.key as ProjectKey;
          const records = (await Array.fromAsync(store.carryOut())).flat();
          const of = (user: string) =>
            records.flatMap((each) =>
              each.type === 'durablePresence' && each.userId === user ? [each] : [],
            );
          const sorted = (user: string) =>
            of(user)
              .map(({ at }) => at)
              .sort((a, b) => a - b);
          assert.deepEqual([sorted('ann').length, sorted('ann')[0]], [MOST, 1_020]);
          assert.deepEqual([sorted('bob').length, sorted('bob')[0]], [128, 5_000 - 127]);
          assert.ok(of('bob').every(({ region, location }) => region === location));
          assert.deepEqual(sorted('cid'), [7]);
          const at = async (location: string) => {
            const filter = { location, partial: true };
            const found = await store.listDurablePresence(key, 'g', filter, { after: null, limit: 10 });
            return found.map(({ userId }) => userId);
          };
          assert.deepEqual([await at(page(0)), await at(page(20))], [['cid'], ['ann']]);
          const ann = await put(store, key, page(MOST + 20), 1);
          assert.deepEqual(ann, { kind: 'set', previous: null, at: 1_000 + MOST + 20, endedTo: 1_020 });
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
      }),
  );
});
