import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { KNOWN, requestsTo, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { runInBash } from './page-examples.ts';
import { shellBlocks } from './shell-blocks.ts';

const [backup = '', restore = '', copy = '', replace = '', ...others] = shellBlocks(
  'docs/operations.md',
  '### The embedded store',
);

const ways = { 'a backup': [backup, restore], 'a copy of the file': [copy, replace] };
for (const [what, [save = '', bringBack = '']] of Object.entries(ways)) {
  test(`docs/operations.md: ${what} that is made beside a running server restores the store`, () =>
    withDataDir(async (directory) => {
      assert.deepEqual(others, []);
      const dataDir = join(directory, 'data');
      await withServe(dataDir, KNOWN, async ({ url, process: server }) => {
        await putUser(url, 'before');
        await runInBash([save], { url, directory });
        await putUser(url, 'after');
        // Killed, so that the log beside the database is not empty when the files are replaced.
        server.signal('SIGKILL');
        await server.ended;
      });
      await runInBash([bringBack], { url: 'http://127.0.0.1', directory });
      await withServe(dataDir, KNOWN, async ({ url }) => {
        assert.equal((await requestsTo(url)('GET', '/v1/users/before')).status, 200);
        assert.equal((await requestsTo(url)('GET', '/v1/users/after')).status, 401);
        await putUser(url, 'again');
      });
    }));
}

async function putUser(url: string, id: string): Promise<void> {
  const answer = await requestsTo(url)('PUT', `/v1/users/${id}`, {});
  assert.equal(answer.status, 200, answer.text);
}
