/** The thread of a large batch dies: its caller is told to try again, nothing of it stays, and the server goes on. */
import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { KNOWN, PROJECT, withServe } from '../cli/cli-process.ts';
import { numbered } from '../contract/store/roster.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { withDataDir } from '../support/server.ts';

const KILLER = pathToFileURL(join(import.meta.dirname, 'thread-killer.ts')).href;

const LARGE = {
  users: numbered('u', 3_000).map((id) => ({ id })),
  groups: [{ id: 'g', name: 'New' }],
};

/** Appears whole: the thread looks at any time. */
function putFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

describe('a server whose batch loses its thread', { skip: skipsPostgres }, () => {
  for (const [how, way] of [
    ['by an error', 'throw'],
    ['without a word', 'exit'],
    ['for want of memory', 'fill'],
  ] as const) {
    test(`${how} answers 503, has applied nothing of it, and applies the next one`, () =>
      withDatabase((databaseUrl) =>
        withDataDir(undefined, async (dataDir) => {
          const killerFile = join(dataDir, 'kill');
          const env = {
            NODE_OPTIONS: `--import=${KILLER} --max-old-space-size=200`,
            THREAD_KILLER_FILE: killerFile,
            // A batch's thread is told the database's URL; no other thread is.
            THREAD_KILLER_KNOWN_BY: 'url',
          };
          const args = [...KNOWN, '--database-url', databaseUrl];
          await withServe(
            dataDir,
            args,
            async ({ url, process: server }) => {
              const token = jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, PROJECT.secret);
              const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
              const request = (method: string, path: string, body?: unknown) =>
                send(url, method, path, {
                  headers,
                  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
                });
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
