/**
 * A PostgreSQL that accepts no more connections, where the store goes on with those that it has; one that only reads, or takes rights
 * away, for a while; connections whose machine is gone, and those whose login fails.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import pg from 'pg';
import { PostgresConnection } from '../../src/store/postgres/connections/postgres-connection.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { withClient } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';

const MOST = 16;
const REQUESTS = 40;

/** Connections that take all that the server has left. */
class AllConnections implements AsyncDisposable {
  readonly #clients: pg.Client[] = [];

  static async open(url: string): Promise<AllConnections> {
    const all = new AllConnections();
    for (;;) {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      try {
        await client.connect();
      } catch (error) {
        assert.match((error as Error).message, /too many clients/);
        return all;
      }
      all.#clients.push(client);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()));
  }
}

/** Runs `use` with a store on a PostgreSQL that accepts no more connections, and with users in it. */
const atLimit = (
  urlOf: (url: string) => string,
  use: (store: Store, roster: Roster, users: readonly string[]) => Promise<void>,
) =>
  OwnPostgres.with(
    async ({ url }) => {
      await using store = closing(await openPostgresStore({ url: urlOf(`${url}&pool_size=10`) }));
      const roster = await newRoster(store);
      const users = numbered('u', REQUESTS);
      await roster.applied({ users: users.map((id) => ({ id })) });
      await store.users.find(roster.key, 'nobody');
      await using _ = await AllConnections.open(url);
      await use(store, roster, users);
    },
    () => ['fsync=off', `max_connections=${MOST}`, 'superuser_reserved_connections=0'],
  );

describe('a PostgreSQL that accepts no more connections', { skip: skipsOwnPostgres }, () => {
  const urls: Readonly<Record<string, (url: string) => string>> = {
    'one host': (url) => url,
    'a second host that is away': (url) => url.replace(/(127\.0\.0\.1:\d+)/, '$1,127.0.0.1:1'),
  };
  for (const [hosts, urlOf] of Object.entries(urls)) {
    test(`reads and writes at once go on with the connections that are open, with ${hosts}`, () =>
      atLimit(urlOf, async (store, roster, users) => {
        const reads = users.map((id) => store.users.find(roster.key, id));
        const writes = users.map((id) => roster.putUser(id, { name: id }));
        await Promise.all([...reads, ...writes]);
        const found = await Promise.all(users.map((id) => store.users.find(roster.key, id)));
        assert.deepEqual(
          found.map((user) => user?.name),
          users,
        );
      }));
  }

  test('writes wait for the transactions that have all open connections', () =>
    atLimit(
      (url) => url,
      async (store, roster, users) => {
        const groups = numbered('g', 6);
        const batches = groups.map((id) => roster.applied({ groups: [{ id, name: id, members: users }] }));
        const writes = users.map((id) => roster.putUser(id, { name: id }));
        await Promise.all([...batches, ...writes]);
        await Promise.all(groups.map((id) => roster.deleteGroup(id)));
        const found = await Promise.all(users.map((id) => store.users.find(roster.key, id)));
        assert.deepEqual(
          found.map((user) => user?.name),
          users,
        );
      },
    ));
});

test(
  'writes on a PostgreSQL that is set read-only are unavailable, and go on when it is not, while their sessions stay open',
  { skip: skipsOwnPostgres },
  () =>
    OwnPostgres.with(async ({ url }) => {
      await using store = closing(await openPostgresStore({ url }));
      const roster = await newRoster(store);
      await withClient(url, async (client) => {
        await client.query('ALTER DATABASE postgres SET default_transaction_read_only = on');
        await client.query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
        );
        await until('a write is rejected', () =>
          roster.putUser('u', {}).then(
            () => false,
            (error) => /read-only/.test(error.message),
          ),
        );
        await client.query('ALTER DATABASE postgres RESET default_transaction_read_only');
      });
      await until('a write is applied', () => roster.putUser('u', {}).then(() => true));
    }),
);

test(
  'a session of PostgreSQL that only reads takes no new callers after a write, and answers those that it has',
  {
    skip: skipsOwnPostgres,
  },
  () =>
    OwnPostgres.with(async ({ url }) => {
      await withClient(url, (client) =>
        client.query('ALTER DATABASE postgres SET default_transaction_read_only = on'),
      );
      const begun = performance.now();
      await using connection = await PostgresConnection.open(parsePostgresUrl(url));
      let ends = 0;
      connection.onEnd = () => {
        ends += 1;
      };
      const limit = performance.now() + 20_000;
      // A session is not replaced in its first second.
      await assert.rejects(connection.run(['CREATE TABLE t ()'], limit), /read-only/);
      assert.ok(ends === 0 || performance.now() - begun >= 1_000);
      const later = connection.run(['SELECT pg_sleep(1.1)'], limit);
      const writes = [1, 2].map(() =>
        assert.rejects(connection.run(['CREATE TABLE t ()'], limit), /read-only/),
      );
      const read = connection.run([`SELECT 'read' FROM pg_sleep(0.1)`], limit);
      await Promise.all([later, ...writes]);
      assert.equal(ends, 1);
      assert.deepEqual(await read, [['read']]);
    }),
);

test(
  'writes without the right to a table are unavailable, and go on when the role has it again',
  { skip: skipsOwnPostgres },
  () =>
    OwnPostgres.with(({ url }) =>
      withClient(url, async (client) => {
        await client.query('CREATE ROLE app LOGIN; GRANT CREATE ON SCHEMA public TO app');
        await using store = closing(await openPostgresStore({ url: url.replace('//postgres@', '//app@') }));
        const roster = await newRoster(store);
        await client.query('ALTER TABLE users OWNER TO postgres');
        await assert.rejects(roster.putUser('u', {}), (error: Error) => {
          assert.ok(error instanceof StoreUnavailableError);
          assert.match(error.message, /permission denied for table users/);
          return true;
        });
        await client.query('ALTER TABLE users OWNER TO app');
        await roster.putUser('u', {});
      }),
    ),
);

test(
  'sessions have settings by which the server ends them within a minute after the machine of their process is gone',
  { skip: skipsOwnPostgres },
  () =>
    OwnPostgres.with(async ({ url }) => {
      await using connection = await PostgresConnection.open(parsePostgresUrl(url));
      // As the socket of the server has them.
      const settings = await connection.run(
        [`SELECT setting::int FROM pg_settings WHERE name ~ '^tcp_(keepalives|user_timeout)' ORDER BY name`],
        performance.now() + 5_000,
      );
      const [count, idle, interval, unacknowledgedMs] = settings.flat() as [number, number, number, number];
      assert.ok(idle + interval * count < 60, `${settings}`);
      assert.ok(0 < unacknowledgedMs && unacknowledgedMs < 60_000, `${settings}`);
    }),
);

/** The server's message that demands SASL, by a mechanism that the client does not have. */
const UNKNOWN_MECHANISM = Buffer.from('R\0\0\0\x0f\0\0\0\x0aOTHER\0\0');

test('a connection to PostgreSQL whose login the client cannot complete is closed', async (t) => {
  const server = createServer((socket) => socket.once('data', () => socket.write(UNKNOWN_MECHANISM)));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const connected = once(server, 'connection');
  const opening = openPostgresStore({ url: `postgres://rollcall@127.0.0.1:${port}/rollcall` });
  const [socket] = (await connected) as [Socket];
  const closed = once(socket, 'close');
  await assert.rejects(opening, /cannot be reached: SASL/);
  await closed;
});
