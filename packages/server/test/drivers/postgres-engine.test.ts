/** Rules of PostgreSQL alone, beyond the Store's contract. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalLocation } from '@rollcall/protocol';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { ProjectGoneError, StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { changesOf, idsOf } from '../contract/store/entries.ts';
import { newRoster, numbered, Roster, View } from '../contract/store/roster.ts';
import { BY_TEST } from '../support/origin.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { withPostgresStores } from './postgres-stores.ts';
import { Recorder } from './statement-recorder.ts';

const each = <Result>(
  stores: readonly Store[],
  { key }: Roster,
  run: (roster: Roster, index: number) => Result,
) => stores.map((store, index) => run(new View(store, key), index));

describe('the database URL', () => {
  test('the database URL has defaults, and all its parameters are read', () => {
    const plain = parsePostgresUrl('postgres://localhost/rollcall');
    assert.deepEqual(
      [plain.hosts, plain.database, plain.poolSize, plain.statementTimeoutMs, plain.tls],
      [[{ host: 'localhost', port: 5_432 }], 'rollcall', 10, 4_000, null],
    );
    const all = parsePostgresUrl(
      'postgresql://us%40er:pa%2Fss@db.example.org:6000/x%20y?pool_size=25&statement_timeout_ms=900&application_name=a&sslmode=require',
    );
    assert.deepEqual([all.user, all.password, all.database], ['us@er', 'pa/ss', 'x y']);
    assert.deepEqual([all.poolSize, all.statementTimeoutMs, all.applicationName], [25, 900, 'a']);
    assert.equal(all.tls?.rejectUnauthorized, false);
    assert.ok(!all.name.includes('pa/ss'));
    assert.equal(
      parsePostgresUrl('postgres://db.example.org/x').tlsOptional,
      true,
      'elsewhere it is preferred',
    );
  });

  test('the database URL names several hosts as libpq does, each with its port or with one for all', () => {
    const hostsOf = (url: string) => parsePostgresUrl(url).hosts.map(({ host, port }) => `${host} ${port}`);
    assert.deepEqual(hostsOf('postgres://u:p@db-1:6000,db-2,[::1]:6002/x'), [
      'db-1 6000',
      'db-2 5432',
      '::1 6002',
    ]);
    assert.deepEqual(hostsOf('postgres://u@:6000/x?host=db-1,db-2&target_session_attrs=read-write'), [
      'db-1 6000',
      'db-2 6000',
    ]);
    assert.deepEqual(hostsOf('postgres:///x?host=%2Frun%2Fpostgresql&target_session_attrs=primary'), [
      '/run/postgresql 5432',
    ]);
    const { name, tls } = parsePostgresUrl('postgres://u:hunter2@localhost,db-2/x');
    assert.equal(name, 'PostgreSQL at localhost:5432,db-2:5432/x');
    assert.ok(tls !== null, 'one of them is elsewhere');
  });

  for (const wrong of [
    'mysql://localhost/x',
    'postgres://a,b:0/x',
    'postgres://a:b:c/x',
    'postgres://a,b/x?host=c',
    'postgres://a,b,c,d,e,f,g,h,i/x',
    'postgres://a,b/x?target_session_attrs=standby',
    'nonsense',
    'postgres://u:p/hunter2@localhost/x',
    'postgres://u:1/hunter2@localhost/x',
    'postgres://u:p?hunter2@localhost/x',
    'postgres://u:1?hunter2=2@localhost/x',
    'postgres://u:p#hunter2@localhost/x',
    'postgres://u:p@h/hunter2@localhost/x',
    'postgres://u:%hunter2@localhost/x',
    'postgres://%zz/x',
    'postgres://localhost/%zz',
    'postgres://localhost/x?poolsize=3',
    'postgres://localhost/x?pool_size=3',
    'postgres://localhost/x?pool_size=many',
    'postgres://localhost/x?statement_timeout_ms=60000',
    'postgres://localhost/x?sslmode=maybe',
    'postgres://us:hunter2@localhost/x?sslmode=verify-ca&sslrootcert=/nowhere',
  ]) {
    test(`a wrong database URL is rejected with a message of one line: ${wrong}`, () => {
      assert.throws(
        () => parsePostgresUrl(wrong),
        (error) => error instanceof StoreUnavailableError && !/\n|hunter2/.test(error.message),
      );
    });
  }
});

describe('several processes on one PostgreSQL', { skip: skipsPostgres }, () => {
  test('every process reads a write as soon as it is acknowledged', () =>
    withPostgresStores(3, async (stores) => {
      const roster = await newRoster(stores[0] as Store);
      await roster.users('ann');
      for (let number = 0; number < 10; number += 1) {
        const views = each(stores, roster, (view) => view);
        const writer = views[number % 3] as Roster;
        const context = { now: number, revision: `v${number}`, ...BY_TEST };
        await writer.store.groups.put(
          roster.key,
          'g',
          { name: `N${number}`, members: number % 2 ? ['ann'] : [] },
          context,
        );
        for (const view of views) {
          assert.equal((await view.group('g')).name, `N${number}`);
          assert.deepEqual(await view.members('g'), number % 2 ? ['ann'] : []);
        }
      }
    }));

  test('reads and writes of a store that is closed are unavailable, and open no connection', () =>
    withPostgresStores(1, async ([store], url) => {
      const { customers, sessions, transfer, close } = store as Store;
      await customers.list();
      await close();
      const late = [
        customers.list(),
        sessions.removeExpired(0),
        sessions.serviceKey(),
        Array.fromAsync(transfer.export()),
      ];
      const closed = { status: 'rejected', reason: new StoreUnavailableError('the store is closed') };
      assert.deepEqual(
        await Promise.allSettled(late),
        late.map(() => closed),
      );
      const { rows } = await withClient(url, (client) =>
        client.query(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'rollcall'",
        ),
      );
      assert.equal(rows.length, 0);
    }));

  test('processes that change a user and their memberships at once do not deadlock', () =>
    withDatabase(async (url) => {
      const stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })]);
      const roster = await newRoster(stores[0] as Store);
      await roster.groupOf('g', 'ann');
      const writers = each([...stores, ...stores, ...stores, ...stores], roster, async (view, writer) => {
        for (let number = 0; number < 100; number += 1) {
          if (writer % 3 > 0) await view.putUser('ann', { name: `N${writer}-${number}` });
          else await view.changeMembers('g', number % 2 === 0 ? { remove: ['ann'] } : { add: ['ann'] });
        }
      });
      await Promise.all(writers);
      // PostgreSQL counts the work of a connection when it ends.
      await Promise.all(stores.map((store) => store.close()));
      const { rows } = await withClient(url, (client) =>
        client.query('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'),
      );
      assert.deepEqual(rows, [{ deadlocks: 0 }]);
    }));

  test('processes that write the same rows at once lose no write, and create each row once', () =>
    withPostgresStores(3, async (stores) => {
      const roster = await newRoster(stores[0] as Store);
      const ids = numbered('u', 60);
      const made = await Promise.all(
        each(stores, roster, (view) => Promise.all(ids.map((id) => view.putUser(id, {})))),
      );
      assert.equal(made.flat().filter(({ kind }) => kind === 'created').length, ids.length);
      await roster.putGroup('g', { name: 'G' });
      await Promise.all(
        each(stores, roster, (view, index) =>
          Promise.all(
            ids
              .filter((_, position) => position % 3 === index)
              .map((id) => view.changeMembers('g', { add: [id] })),
          ),
        ).flat(),
      );
      assert.deepEqual(await roster.members('g'), ids);
      const { total } = await roster.listUsers({ after: null, limit: 1 });
      assert.equal(total, ids.length);
      const batches = each(stores, roster, ({ store, key }, index) => {
        const users = ids.map((id) => ({ id, name: `N${index}` }));
        const body = Buffer.from(JSON.stringify({ users, groups: [{ id: 'g', members: [] }] }));
        return store.batches.apply(
          key,
          { body, dryRun: false },
          { now: index, revision: `batch ${index}`, ...BY_TEST },
        );
      });
      assert.deepEqual(
        (await Promise.all(batches)).map(({ kind }) => kind),
        ['applied', 'applied', 'applied'],
      );
      assert.equal(new Set(await Promise.all(ids.map(async (id) => (await roster.user(id)).name))).size, 1);
    }));

  test('every process rejects writes of a deleted project at once, and any of them removes its data', () =>
    withPostgresStores(2, async (stores, url) => {
      const roster = await newRoster(stores[0] as Store);
      await roster.groupOf('g', ...numbered('u', 5_000));
      const update = { userId: 'u000001', groupId: 'g', region: '{"p":"1"}', location: '{"p":"1"}' };
      await roster.store.durablePresence.put(roster.key, update, roster.next());
      assert.equal(await stores[0]?.projects.delete(roster.key), true);
      await assert.rejects(new Roster(stores[1] as Store, roster.key).putUser('late', {}), ProjectGoneError);
      await withClient(url, async (client) => {
        const left = `SELECT (SELECT count(*) FROM users) + (SELECT count(*) FROM memberships)
          + (SELECT count(*) FROM groups) + (SELECT count(*) FROM durable_presence)
          + (SELECT count(*) FROM durable_pairs) + (SELECT count(*) FROM user_counts)
          + (SELECT count(*) FROM deleted_projects WHERE NOT emptied) AS rows`;
        await until('the removal of its data', async () => {
          return Number((await client.query(left)).rows[0].rows) === 0;
        });
        // Long after, it is purged once more, and its row is removed.
        await client.query(`UPDATE deleted_projects SET deleted_at = now() - interval '1 hour'`);
        await client.query(`INSERT INTO users (project_id, id, status, metadata, created_at, updated_at, revision)
          VALUES ('${roster.key}', 'late', 'active', '{}', 0, 0, 'r')`);
        const other = await newRoster(stores[1] as Store);
        assert.equal(await stores[1]?.projects.delete(other.key), true);
        const remembered = 'SELECT 1 FROM deleted_projects WHERE project_id = $1';
        await until('it is forgotten', async () => {
          return (await client.query(remembered, [roster.key])).rowCount === 0;
        });
        assert.equal((await client.query('SELECT 1 FROM users')).rowCount, 0);
      });
    }));
});

describe('the deletion of a large group on PostgreSQL', { skip: skipsPostgres }, () => {
  test('a group of more than 10,000 members is deleted on a thread of its own: this thread reads 10,001 of them at most', () =>
    withPostgresStores(1, async ([store]) => {
      const roster = await newRoster(store as Store);
      const ids = numbered('u', 20_000);
      await roster.users(...ids.slice(0, 10_000));
      await roster.users(...ids.slice(10_000));
      await roster.putGroup('g', { name: 'G', members: ids });
      const recorder = new Recorder();
      recorder.start();
      try {
        const outcome = await roster.deleteGroup('g');
        assert.deepEqual(
          changesOf(outcome).sort(),
          [...ids.map((id) => `member.removed g ${id}`), 'group.removed g'].sort(),
        );
      } finally {
        recorder.stop();
      }
      const [, members] = recorder.sent;
      assert.equal(members?.values.at(-1), 10_001);
      assert.equal(recorder.sent.length, 2, 'it has changed nothing');
      assert.equal((await roster.deleteGroup('g')).kind, 'absent');
      assert.deepEqual(await idsOf(roster.listUsers), ids);
    }));
});

describe('the deletion of a user of many groups on PostgreSQL', { skip: skipsPostgres }, () => {
  test('a user of more than 2,000 groups is deleted on a thread of its own: this thread reads 2,001 of them at most', () =>
    withPostgresStores(1, async ([store]) => {
      const roster = await newRoster(store as Store);
      const groups = numbered('g', 5_000);
      await roster.users('u', 'v');
      for (let from = 0; from < groups.length; from += 1_000)
        await roster.applied({
          groups: groups.slice(from, from + 1_000).map((id) => ({ id, name: id, members: ['u', 'v'] })),
        });
      const recorder = new Recorder();
      recorder.start();
      try {
        const outcome = await roster.deleteUser('u');
        assert.deepEqual(
          changesOf(outcome).sort(),
          [...groups.map((id) => `member.removed ${id} u`), 'user.removed u'].sort(),
        );
      } finally {
        recorder.stop();
      }
      const [locked, , read] = recorder.sent;
      assert.deepEqual([locked?.values.at(-1), read?.values.at(-1)], [2_001, 2_001]);
      assert.equal(recorder.sent.length, 3, 'it has changed nothing');
      assert.equal((await roster.deleteUser('u')).kind, 'absent');
      assert.deepEqual(await roster.members(groups.at(-1) as string), ['v']);
    }));
});

describe('the longest values on PostgreSQL', { skip: skipsPostgres }, () => {
  test('the longest IDs, locations and regions are stored, found and removed', () =>
    withPostgresStores(1, async ([store]) => {
      const roster = await newRoster(store as Store);
      // Texts that do not compress, because the limits may not depend on compression.
      const astral = (seed: number, length: number) =>
        Array.from({ length }, (_, index) =>
          String.fromCodePoint(0x20000 + ((index * 7_919 + seed * 104_729) % 40_000)),
        ).join('');
      const [user, group] = [astral(1, 320), astral(2, 320)];
      const location = canonicalLocation(
        Object.fromEntries(
          Array.from({ length: 16 }, (_, index) => [astral(index, 1_024), astral(index + 50, 1_024)]),
        ),
      );
      await roster.applied({ users: [{ id: user }], groups: [{ id: group, name: 'G', members: [user] }] });
      const update = { userId: user, groupId: group, region: location, location };
      assert.equal((await roster.store.durablePresence.put(roster.key, update, roster.next())).kind, 'set');
      const found = { userId: user, location, at: 0 };
      for (const partial of [true, false]) {
        const [presence] = await roster.store.durablePresence.list(
          roster.key,
          group,
          { location, partial },
          { after: null, limit: 5 },
        );
        assert.deepEqual({ ...presence, at: 0 }, found);
      }
      assert.deepEqual(await idsOf(roster.groupsOf(user)), [group]);
      await roster.deleteUser(user);
      assert.equal(await roster.store.durablePresence.find(roster.key, group, user), null);
    }));
});
