import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { KNOWN, PROJECT, withServe } from '../cli/cli-process.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { withDataDir } from '../support/server.ts';
import { runInBash } from './page-examples.ts';
import { shellBlocks } from './shell-blocks.ts';

const [backup = '', restore = ''] = shellBlocks('docs/operations.md', '### The embedded store');

test('docs/operations.md: a copy that is made beside a running server brings back what there was', () =>
  withDataDir(undefined, async (directory) => {
    const dataDir = join(directory, 'data');
    await withServe(dataDir, KNOWN, async ({ url, process: server }) => {
      await putUser(url, 'before');
      await runInBash([backup], { url, directory });
      await putUser(url, 'after');
      // Killed, so that the log beside the database is not empty when the copy takes its place.
      server.signal('SIGKILL');
      await server.ended;
    });
    await runInBash([restore], { url: 'http://127.0.0.1', directory });
    await withServe(dataDir, KNOWN, async ({ url }) => {
      assert.equal((await asProject(url, 'GET', '/v1/users/before')).status, 200);
      assert.equal((await asProject(url, 'GET', '/v1/users/after')).status, 401);
      await putUser(url, 'again');
    });
  }));

async function putUser(url: string, id: string): Promise<void> {
  assert.equal((await asProject(url, 'PUT', `/v1/users/${id}`, '{}')).status, 200);
}

function asProject(url: string, method: string, path: string, body?: string) {
  const token = jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, PROJECT.secret);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return send(url, method, path, { headers, ...(body !== undefined && { body }) });
}
