/** A PostgreSQL that accepts no more connections: the store goes on with those that it has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';

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

test(
  'reads and writes at once go on with the connections that are open when PostgreSQL accepts no more',
  {
    skip: skipsOwnPostgres,
  },
  () =>
    OwnPostgres.with(
      async ({ url }) => {
        await using store = closing(await openPostgresStore({ url: `${url}&pool_size=10` }));
        const roster = await newRoster(store);
        const users = numbered('u', REQUESTS);
        await roster.applied({ users: users.map((id) => ({ id })) });
        await store.users.find(roster.key, 'nobody');
        await using _ = await AllConnections.open(url);
        const reads = users.map((id) => store.users.find(roster.key, id));
        const writes = users.map((id) => roster.putUser(id, { name: id }));
        await Promise.all([...reads, ...writes]);
        const found = await Promise.all(users.map((id) => store.users.find(roster.key, id)));
        assert.deepEqual(
          found.map((user) => user?.name),
          users,
        );
      },
      () => ['fsync=off', `max_connections=${MOST}`, 'superuser_reserved_connections=0'],
    ),
);
