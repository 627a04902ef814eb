/** Servers that respond and cannot be used: the start and `rollcall doctor` name the reason. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { CHECKOUT, rollcall } from './cli-process.ts';

type Settings = Record<string, string>;

/** The only line of a start that fails. */
const failedStart = (env: Settings) =>
  withDataDir(async (dataDir) => {
    const settings = { ROLLCALL_DATA_DIR: dataDir, ROLLCALL_PORT: '0', ...env };
    const { code, stderr } = await rollcall(['serve'], { program: CHECKOUT, env: settings });
    assert.equal(code, 1, stderr);
    return stderr;
  });

/** What the doctor finds of a server that fails its check. */
const failedCheck = (name: string, env: Settings) =>
  withDataDir(async (dataDir) => {
    const settings = { ROLLCALL_DATA_DIR: dataDir, ROLLCALL_PORT: '1', ...env };
    const { code, stdout } = await rollcall(['doctor', '--json'], { program: CHECKOUT, env: settings });
    assert.equal(code, 1, stdout);
    const checks = JSON.parse(stdout) as { name: string; outcome: string; found: string; advice: string }[];
    const check = checks.find((one) => one.name === name);
    assert.equal(check?.outcome, 'failed', stdout);
    return `${check.found}: ${check.advice}`;
  });

describe('a PostgreSQL that does not support all texts', { skip: skipsPostgres }, () => {
  for (const encoding of ['LATIN1', 'SQL_ASCII'])
    test(`a start on a database with the encoding ${encoding} fails with one line, creates no table, and rollcall doctor reports the encoding`, () =>
      withDatabase(async (url) => {
        const env = { ROLLCALL_DATABASE_URL: url };
        assert.match(await failedStart(env), new RegExp(`^rollcall: .*encoding ${encoding}.*UTF8.*\n$`));
        const { rows } = await withClient(url, (client) =>
          client.query("SELECT 1 FROM pg_tables WHERE schemaname = 'public'"),
        );
        assert.deepEqual(rows, []);
        assert.match(await failedCheck('PostgreSQL', env), new RegExp(`encoding ${encoding}.*UTF8`));
      }, `ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`));
});

describe('a PostgreSQL that only reads', { skip: skipsPostgres }, () => {
  test('a start on an empty database with default_transaction_read_only fails with one line, and rollcall doctor reports read-only transactions', () =>
    withDatabase(async (url) => {
      const database = new URL(url).pathname.slice(1);
      await withClient(url, (client) =>
        client.query(`ALTER DATABASE "${database}" SET default_transaction_read_only = on`),
      );
      const env = { ROLLCALL_DATABASE_URL: url };
      assert.match(await failedStart(env), /^rollcall: .*read-only transaction\n$/);
      assert.match(await failedCheck('PostgreSQL', env), /read-only.*default_transaction_read_only/);
    }));
});

describe('a PostgreSQL with other tables', { skip: skipsPostgres }, () => {
  test('a start on a database whose schema has tables of a newer version fails with one line about the restore of a dump', () =>
    withDatabase(async (url) => {
      await (await openPostgresStore({ url })).close();
      // A restore of a dump of this version replaces the tables that the dump has, and no others.
      await withClient(url, (client) => client.query('DELETE FROM schema_migrations WHERE number > 9'));
      assert.match(
        await failedStart({ ROLLCALL_DATABASE_URL: url }),
        /^rollcall: the database has tables that schema version 9 has not \(relation "webhooks" already exists\): .*restore dumps into one\n$/,
      );
    }));

  test('a start on a database with tables of another program fails with one line about them', () =>
    withDatabase(async (url) => {
      await withClient(url, (client) => client.query('CREATE TABLE users (id INTEGER)'));
      assert.match(
        await failedStart({ ROLLCALL_DATABASE_URL: url }),
        /^rollcall: the database has tables that schema version 0 has not \(relation "users" already exists\): another program's/,
      );
    }));
});

describe('a PostgreSQL whose role lacks rights', { skip: skipsPostgres }, () => {
  const lacking: Readonly<Record<string, readonly [sql: string, reason: RegExp]>> = {
    'the right to create tables': [
      'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
      /permission denied for schema public/,
    ],
    'a schema in its search_path': ["ALTER ROLE $role SET search_path = ''", /no schema has been selected/],
    'the right to tables of another role': [
      'CREATE TABLE schema_migrations (number BIGINT)',
      /permission denied for table schema_migrations/,
    ],
  };
  for (const [right, [sql, reason]] of Object.entries(lacking))
    test(`a start with a role without ${right} fails with one line that names the required owner of the database`, () =>
      withDatabase((url) =>
        withClient(url, async (client) => {
          const role = `rollcall_test_role_${process.pid}`;
          await client.query(`CREATE ROLE ${role} LOGIN`);
          try {
            await client.query(sql.replace('$role', role));
            const own = new URL(url);
            own.username = role;
            const line = await failedStart({ ROLLCALL_DATABASE_URL: own.href });
            assert.match(line, reason);
            assert.match(line, /^rollcall: PostgreSQL at \S+ cannot be used: .*must own the database.*\n$/);
          } finally {
            await client.query(`DROP ROLE ${role}`);
          }
        }),
      ));
});

describe('a Redis that cannot be used', { skip: skipsOwnRedis }, () => {
  test('a start with the number of a database that Redis does not have fails with one line, and writes to no other database', async (t) => {
    const redis = await OwnRedis.start();
    t.after(() => redis.remove());
    const env = { ROLLCALL_REDIS_URL: `${redis.url}/99` };
    assert.match(
      await failedStart(env),
      /^rollcall: Redis at \S+ does not have the database 99: ERR DB index is out of range\n$/,
    );
    assert.match(await failedCheck('Redis', env), /DB index is out of range/);
    assert.equal(await redis.command('DBSIZE'), 0);
  });

  const lacking: Readonly<Record<string, readonly string[]>> = {
    subscriptions: ['~*', '&*', '+@all', '-subscribe'],
    'the channels of its prefix': ['~*', 'resetchannels', '+@all'],
    scripts: ['~*', '&*', '+@all', '-@scripting'],
    'the keys of its prefix': ['~other:*', '&*', '+@all'],
  };
  for (const [right, rules] of Object.entries(lacking))
    test(`a start with an account of Redis without the right to ${right} fails with one line`, async (t) => {
      const redis = await OwnRedis.start();
      t.after(() => redis.remove());
      await redis.command('ACL', 'SETUSER', 'rollcall', 'on', '>secret', ...rules);
      const url = redis.url.replace('//', '//rollcall:secret@');
      assert.match(
        await failedStart({ ROLLCALL_REDIS_URL: url }),
        /^rollcall: Redis: NOPERM .*no permissions.*\n$/,
      );
    });

  test('a start on a replica of Redis fails with one line, and a URL that names the replica and the master uses the master', async (t) => {
    const master = await OwnRedis.start('--repl-diskless-sync-delay', '0');
    t.after(() => master.remove());
    const replica = await OwnRedis.start('--replicaof', '127.0.0.1', `${master.port}`);
    t.after(() => replica.remove());
    await until('the replica follows', async () =>
      /master_link_status:up/.test((await replica.command('INFO', 'replication')) as string),
    );
    const env = { ROLLCALL_REDIS_URL: replica.url };
    assert.match(
      await failedStart(env),
      /^rollcall: Redis at \S+ is a replica, which takes no writes: .*\n$/,
    );
    assert.match(await failedCheck('Redis', env), /a replica, which takes no writes: .*master/);
    const presence = await openRedisPresence({
      url: `redis://127.0.0.1:${replica.port},127.0.0.1:${master.port}`,
    });
    t.after(() => presence.close());
    assert.match((await master.command('CLIENT', 'LIST')) as string, /name=rollcall/);
  });
});
