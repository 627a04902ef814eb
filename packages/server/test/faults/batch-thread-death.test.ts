/** The thread of a large batch dies: the batch is answered with 503, nothing of it is applied, and the server goes on. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { KNOWN, requestsTo, withServe } from '../cli/cli-process.ts';
import { numbered } from '../contract/store/roster.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { withDataDir } from '../support/server.ts';
import { KILLER, putFile } from './killer-file.ts';

const LARGE = {
  users: numbered('u', 3_000).map((id) => ({ id })),
  groups: [{ id: 'g', name: 'New' }],
};

describe('a server whose batch thread dies', { skip: skipsPostgres }, () => {
  for (const [how, way] of [
    ['by an error', 'throw'],
    ['without a word', 'exit'],
    ['for want of memory', 'fill'],
  ] as const) {
    test(`${how} answers the batch with 503, applies nothing of it, and applies the next batch`, () =>
      withDatabase((databaseUrl) =>
        withDataDir(async (dataDir) => {
          const killerFile = join(dataDir, 'kill');
          const env = {
            NODE_OPTIONS: `--import=${KILLER} --max-old-space-size=200`,
            THREAD_KILLER_FILE: killerFile,
            // Only a batch's thread gets the URL of the database.
            THREAD_KILLER_WORKER_DATA_KEY: 'url',
          };
          const args = [...KNOWN, '--database-url', databaseUrl];
          await withServe(
            dataDir,
            args,
            async ({ url, process: server }) => {
              const request = requestsTo(url);
              assert.equal((await request('PUT', '/v1/groups/g', { name: 'Old' })).status, 200);
              await withClient(databaseUrl, async (client) => {
                await client.query('BEGIN');
                await client.query('SELECT 1 FROM groups FOR UPDATE');
                const answering = request('POST', '/v1/batch', LARGE);
                await untilWaiting(databaseUrl, 1);
                putFile(killerFile, way);
                const answer = await answering;
                assert.deepEqual([answer.status, answer.json<{ error: string }>().error], [503, 'error']);
                assert.ok(answer.headers['retry-after']);
                rmSync(killerFile);
                await client.query('ROLLBACK');
              });
              await server.output(/the thread of the write died/);
              assert.equal((await request('GET', '/v1/groups/g')).json<{ name: string }>().name, 'Old');
              assert.deepEqual((await request('GET', '/v1/users')).json<{ users: unknown }>().users, []);
              assert.equal((await request('POST', '/v1/batch', LARGE)).status, 200);
              assert.equal((await request('GET', '/v1/groups/g')).json<{ name: string }>().name, 'New');
            },
            { env },
          );
        }),
      ));
  }
});
