/** Durable presence in the embedded engine: the cost of a read, the rows of a write, and older stores. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { canonicalLocation } from '@rollcall/protocol';
import { durablePresenceReads } from '../../src/store/sqlite/presence/sqlite-durable-presence.ts';
import { locationKeys } from '../../src/store/sqlite/presence/sqlite-location-keys.ts';
import { type Row, SqliteConnection, type Statement } from '../../src/store/sqlite/sqlite-connection.ts';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { Random } from '../sim/random.ts';
import { BY_TEST } from '../support/origin.ts';
import { until } from '../support/waiting.ts';
import { withDirectory, withFile, withStore } from './sqlite-directory.ts';

const BY_SITE = canonicalLocation({ site: 's' });

const pageAt = (page: string) => canonicalLocation({ app: 'a', page, site: 's' });

function put(
  store: Store,
  key: ProjectKey,
  userId: string,
  location: string,
  now: number,
  region = location,
) {
  return store.durablePresence.put(
    key,
    { userId, groupId: 'g', region, location },
    { now, revision: `p${now}`, ...BY_TEST },
  );
}

describe('the cost of a read of durable presence', () => {
  /** Many users on pages of a site, one of them on very many, and ten on a page of their own; all of it twice as large, or not. */
  async function stock(store: Store, size: number): Promise<Roster> {
    const roster = await newRoster(store);
    const users = numbered('u', size);
    await roster.groupOf('g', 'before', ...users, 'u000000-many');
    const crowd = users.map((user, index) =>
      put(store, roster.key, user, pageAt(index < 10 ? 'rare' : `${index}`), index),
    );
    const many = Array.from({ length: size }, (_, index) =>
      put(store, roster.key, 'u000000-many', pageAt(`many ${index}`), index),
    );
    await Promise.all([...crowd, ...many, put(store, roster.key, 'before', '{"zone":"z"}', 1)]);
    return roster;
  }

  /** The rows that readings fetch from the engine; their plans fetch no others. */
  function countedReads(file: string) {
    const connection = new SqliteConnection(file, { readOnly: true });
    let rows = 0;
    const prepare = <Columns extends Row>(sql: string): Statement<Columns> => {
      const statement = connection.prepare<Columns>(sql);
      return {
        ...statement,
        get(...parameters) {
          rows += 1;
          return statement.get(...parameters);
        },
        all: () => assert.fail('no reading takes all there is'),
        *iterate(...parameters) {
          for (const row of statement.iterate(...parameters)) {
            rows += 1;
            yield row;
          }
        },
      };
    };
    const reads = durablePresenceReads({ prepare });
    return {
      close: () => connection.close(),
      async rowsOf<Answer>(run: (presence: typeof reads) => Promise<Answer>): Promise<[Answer, number]> {
        rows = 0;
        return [await run(reads), rows];
      },
    };
  }

  const readings: readonly [name: string, filter: LocationFilter, limit: number, after: string | null][] = [
    ['the location itself', { location: pageAt('rare'), partial: false }, 1_000, null],
    ['a rare pair', { location: '{"page":"rare"}', partial: true }, 1_000, null],
    ['a rare pair and one that all have', { location: pageAt('rare'), partial: true }, 1_000, null],
    [
      'a pair that all have and a rare one',
      { location: '{"app":"a","page":"rare"}', partial: true },
      1_000,
      null,
    ],
    [
      'two pairs that no location has at once',
      { location: '{"site":"s","zone":"z"}', partial: true },
      1_000,
      null,
    ],
    ['a pair that no location has', { location: '{"site":"t"}', partial: true }, 1_000, null],
    ['a page of the users with a pair that all have', { location: BY_SITE, partial: true }, 20, null],
    ['a later page of these users', { location: BY_SITE, partial: true }, 20, 'u000150'],
    ['a page of all users, one of them with very many locations', null, 20, null],
    ['a later page of all users', null, 20, 'u000150'],
  ];

  test('the cost of a read of durable presence does not grow with the locations of the group that are not in the answer', () =>
    withDirectory(async (directory) => {
      const costs: unknown[][] = [];
      for (const size of [200, 2_000]) {
        const dataDir = join(directory, `${size}`);
        const { key } = await withStore(dataDir, (store) => stock(store, size));
        const reads = countedReads(join(dataDir, STORE_FILE));
        const costsOfLists: unknown[] = [];
        for (const [name, filter, limit, after] of readings) {
          const [found, rows] = await reads.rowsOf((presence) =>
            presence.list(key, 'g', filter, { after, limit }),
          );
          const users = found.map(({ userId }) => userId);
          const { length } = users;
          assert.ok(rows <= 4 * length + 30, `${name}: ${rows} rows for ${length}`);
          costsOfLists.push([name, users, rows]);
        }
        const [, rows] = await reads.rowsOf((presence) => presence.find(key, 'g', 'u000000-many'));
        costs.push(costsOfLists, [rows]);
        reads.close();
      }
      assert.deepEqual(costs.slice(2), costs.slice(0, 2));
    }));
});

describe('the rows of a durable location', () => {
  /** The index rows of locations, actual and expected. */
  function locationRowsOf(dataDir: string) {
    return withFile(dataDir, (database) => {
      const rows = database
        .prepare('SELECT group_no, place_key, user_id, presence_no FROM durable_places')
        .all();
      const presence = database
        .prepare('SELECT group_no, user_id, presence_no, location FROM durable_presence')
        .all();
      const derived = presence.flatMap(({ group_no, user_id, presence_no, location }) =>
        [...locationKeys(String(location))].map((place_key) => ({
          group_no,
          place_key,
          user_id,
          presence_no,
        })),
      );
      const texts = (list: readonly object[]) =>
        list.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
      return { actual: texts(rows), derived: texts(derived), presence: presence.length };
    });
  }

  const USERS = ['ann', 'bob', 'cid', 'dan', 'eve'] as const;
  const SEED = 7;

  /** Ends some locations in one of the ways in which they can end. */
  function endSome(roster: Roster, random: Random): Promise<unknown> {
    const user = random.pick(USERS);
    const ways = [
      () => roster.deleteUser(user),
      () => roster.deleteGroup('g'),
      () => roster.changeMembers('g', { remove: [user] }),
      () => roster.putGroup('g', { members: ['ann', 'bob'] }),
      () => roster.applied({ groups: [{ id: 'g', members: [user] }] }),
    ];
    return random.pick(ways)();
  }

  test('the rows of a durable location are those of its keys, no more and no fewer, after any sequence of writes', () =>
    withDirectory(async (dataDir) => {
      await withStore(dataDir, async (store) => {
        const [roster, random] = [await newRoster(store), new Random(SEED)];
        let most = 0;
        for (let round = 0; round < 40; round += 1) {
          await roster.groupOf('g', ...USERS);
          for (let move = 0; move < 10; move += 1) {
            const pages = ['1', '2', '3'] as const;
            const [location, region] = [
              pageAt(random.pick(pages)),
              random.pick([BY_SITE, pageAt('1'), pageAt('2')]),
            ];
            await put(store, roster.key, random.pick(USERS), location, move, region);
          }
          const { actual, derived, presence } = locationRowsOf(dataDir);
          assert.deepEqual(actual, derived, `seed ${SEED}, round ${round}`);
          most = Math.max(most, presence);
          await endSome(roster, random);
        }
        assert.ok(most >= 8, `${most} locations at most: too few for this test`);
      });
    }));

  test('the rows of a durable location do not change when it is renewed, and change for the changed pairs alone when it moves', () =>
    withDirectory(async (dataDir) => {
      const key = await withStore(dataDir, async (store) => {
        const roster = await newRoster(store);
        await roster.groupOf('g', 'ann');
        await put(store, roster.key, 'ann', pageAt('1'), 1, BY_SITE);
        return roster.key;
      });
      withFile(dataDir, (database) =>
        database.exec(`CREATE TABLE touched (what TEXT);
          CREATE TRIGGER i AFTER INSERT ON durable_places BEGIN INSERT INTO touched VALUES ('in'); END;
          CREATE TRIGGER u AFTER UPDATE ON durable_places BEGIN INSERT INTO touched VALUES ('up'); END;
          CREATE TRIGGER d AFTER DELETE ON durable_places BEGIN INSERT INTO touched VALUES ('out'); END;`),
      );
      const touched = () =>
        withFile(dataDir, (database) =>
          database
            .prepare('SELECT what FROM touched')
            .all()
            .map(({ what }) => what),
        );
      await withStore(dataDir, async (store) => {
        await put(store, key, 'ann', pageAt('1'), 2, BY_SITE);
        assert.deepEqual(touched(), []);
        await put(store, key, 'ann', pageAt('2'), 3, BY_SITE);
        assert.deepEqual(touched(), ['out', 'out', 'in', 'in'], 'the whole and the page, not the rest');
      });
    }));

  test('the rows of a durable location are removed with the project', () =>
    withDirectory(async (dataDir) => {
      const count = (table: string) =>
        withFile(dataDir, (database) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
      await withStore(dataDir, async (store) => {
        const [deleted, other] = [await newRoster(store), await newRoster(store)];
        for (const roster of [deleted, other]) {
          await roster.groupOf('g', 'ann', 'bob');
          await roster.groupOf('h', 'ann');
          await put(store, roster.key, 'ann', pageAt('1'), 1);
          await put(store, roster.key, 'bob', pageAt('1'), 1);
        }
        await store.projects.delete(deleted.key);
        await until('the removal of the project', () => count('deleted_projects') === 0);
      });
      assert.equal(count('durable_presence'), 2);
      const { actual, derived } = locationRowsOf(dataDir);
      assert.deepEqual(actual, derived);
    }));
});

describe('a store of the first schema', () => {
  const MIGRATIONS = new URL('../../src/store/sqlite/migrations/', import.meta.url);

  /** A group of users with locations, as the first version stored them. */
  function makeFirst(
    dataDir: string,
    locations: readonly (readonly [user: string, region: string, location: string, at: number])[],
  ) {
    withFile(dataDir, (database) => {
      database.exec(readFileSync(new URL('0001-initial.sql', MIGRATIONS), 'utf8'));
      database.exec(`PRAGMA journal_mode = WAL; PRAGMA user_version = 1;
        INSERT INTO customers VALUES ('c', 's', 'C', 1);
        INSERT INTO projects (project_no, id, customer_id, name, secret, created_at) VALUES (1, 'p', 'c', 'P', 's', 1);
        INSERT INTO groups VALUES (5, 1, 'g', 'G', 'active', '{}', NULL, 2, 'r')`);
      for (const [index, id] of ['ann', 'bob'].entries()) {
        database.exec(`
          INSERT INTO users (user_no, project_no, id, status, metadata, created_at, updated_at, revision)
            VALUES (${index + 7}, 1, '${id}', 'active', '{}', 1, 1, 'r');
          INSERT INTO memberships VALUES (5, '${id}', ${index + 7}, NULL, NULL);
          INSERT INTO user_groups VALUES (${index + 7}, 'g', 5)`);
      }
      const insert = database.prepare('INSERT INTO durable_presence VALUES (5, ?, ?, ?, ?, ?)');
      for (const [user, region, location, at] of locations)
        insert.run(user, region, user === 'ann' ? 7 : 8, location, at);
    });
  }

  test('a store of the first schema has its durable presence after the migration, which reads find like newly written presence', () =>
    withDirectory(async (dataDir) => {
      const odd = canonicalLocation({ 'a"b': '\0', lone: '\ud800', emoji: '\u{1f600}', '': '' });
      makeFirst(dataDir, [
        ['ann', pageAt('1'), pageAt('1'), 10],
        ['ann', BY_SITE, pageAt('2'), 20],
        ['bob', odd, odd, 30],
      ]);
      await withStore(dataDir, async (store) => {
        const project = await store.projects.find('p');
        assert.ok(project);
        const { key } = project;
        const list = (filter: LocationFilter) =>
          store.durablePresence.list(key, 'g', filter, { after: null, limit: 10 });
        const ann = { userId: 'ann', location: pageAt('2'), at: 20 };
        const bob = { userId: 'bob', location: odd, at: 30 };
        assert.deepEqual(await list(null), [ann, bob]);
        assert.deepEqual(await list({ location: BY_SITE, partial: true }), [ann]);
        assert.deepEqual(await list({ location: pageAt('1'), partial: false }), [
          { ...ann, location: pageAt('1'), at: 10 },
        ]);
        for (const pair of [{ 'a"b': '\0' }, { lone: '\ud800' }, { emoji: '\u{1f600}' }, { '': '' }])
          assert.deepEqual(await list({ location: canonicalLocation(pair), partial: true }), [bob]);
        assert.deepEqual(await put(store, key, 'ann', pageAt('3'), 40, BY_SITE), {
          kind: 'set',
          previous: pageAt('2'),
          at: 40,
          latestBefore: 20,
          endedTo: null,
          changes: [{ type: 'durable_presence.moved', group: 'g', user: 'ann' }],
        });
        assert.deepEqual(await list({ location: '{"page":"2"}', partial: true }), []);
      });
    }));

  test('a store of the first schema does not change when the migration fails', () =>
    withDirectory(async (dataDir) => {
      makeFirst(dataDir, [['ann', '{"a":"b"}', 'this is no JSON', 1]]);
      await assert.rejects(withStore(dataDir, async () => {}));
      withFile(dataDir, (database) => {
        assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, 1);
        assert.equal(
          database.prepare('SELECT location FROM durable_presence').get()?.location,
          'this is no JSON',
        );
      });
    }));
});
