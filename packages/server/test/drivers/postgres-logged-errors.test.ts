/** What the log has of an error of PostgreSQL. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { recordedLog } from '../support/recorded-log.ts';
import { withServer } from '../support/server.ts';

test(
  'an unexpected error of PostgreSQL is logged without the values of its row and of its statement, which can be secrets',
  { skip: skipsPostgres },
  () =>
    withDatabase(async (databaseUrl) => {
      await withClient(databaseUrl, async (client) => {
        const { rows } = await client.query('SELECT quote_ident(current_database()) AS name');
        // With it, the server adds the parameters of the statement to each error.
        await client.query(`ALTER DATABASE ${rows[0]?.name} SET log_parameter_max_length_on_error = -1`);
      });
      const { log, lines } = recordedLog<object>();
      await withServer({ settings: { databaseUrl }, log }, async ({ request, customerToken }) => {
        await withClient(databaseUrl, (client) =>
          client.query("ALTER TABLE projects ADD CONSTRAINT unexpected CHECK (name <> 'confidential')"),
        );
        const answer = await request('POST', '/v1/projects', {
          token: customerToken,
          body: { name: 'confidential' },
        });
        assert.equal(answer.status, 500);
      });
      const logged = JSON.stringify(lines);
      assert.match(logged, /violates check constraint/);
      assert.doesNotMatch(logged, /confidential/);
    }),
);
