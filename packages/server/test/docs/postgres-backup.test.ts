import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { KNOWN, requestsTo, withServe } from '../cli/cli-process.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { runInBash } from './page-examples.ts';
import { shellBlocks } from './shell-blocks.ts';

const [backup = '', restore = '', analyze = ''] = shellBlocks('docs/operations.md', '### PostgreSQL');
const noTools = ['pg_dump', 'pg_restore', 'vacuumdb'].find(
  (program) => spawnSync(program, ['--version']).error !== undefined,
);
const skip = skipsPostgres || (noTools === undefined ? false : `this machine has no ${noTools}`);

test('docs/operations.md: a backup of a database in use restores all acknowledged writes', { skip }, () =>
  withDatabase((databaseUrl) =>
    withDataDir(async (directory) => {
      const variables = `DATABASE='${databaseUrl}'`;
      const env = { ROLLCALL_DATABASE_URL: databaseUrl };
      const serving = (use: (url: string) => Promise<void>) =>
        withServe(directory, KNOWN, ({ url }) => use(url), { env });
      await serving(async (url) => {
        await putUser(url, 'before');
        await runInBash([variables, backup], { url, directory });
        await putUser(url, 'after');
      });
      await runInBash([variables, restore, analyze], { url: 'http://127.0.0.1', directory });
      await serving(async (url) => {
        assert.equal((await requestsTo(url)('GET', '/v1/users/before')).status, 200);
        assert.equal((await requestsTo(url)('GET', '/v1/users/after')).status, 401);
        await putUser(url, 'again');
      });
    }),
  ),
);

async function putUser(url: string, id: string): Promise<void> {
  const answer = await requestsTo(url)('PUT', `/v1/users/${id}`, {});
  assert.equal(answer.status, 200, answer.text);
}
