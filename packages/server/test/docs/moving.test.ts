import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { KNOWN, PROJECT, withServe } from '../cli/cli-process.ts';
import { closing } from '../support/closing.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import { runInBash } from './page-examples.ts';
import { shellBlocks } from './shell-blocks.ts';

const [copy = '', ...others] = shellBlocks('docs/operations.md', '## Moving to PostgreSQL');

const hostOf = (url: string) => {
  const token = jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, PROJECT.secret);
  return new Project(url, PROJECT.id, PROJECT.secret, token);
};

/** All data to be moved, as a host reads it. */
async function readings(host: Project, accessToken: string): Promise<unknown> {
  const bearer = { authorization: `Bearer ${accessToken}` };
  const { durable } = await new Presence(host).entryOf('ada');
  const { members, metadata, status, connectedToMessenger } = await host.group('g');
  return {
    group: { members, metadata, status, connectedToMessenger },
    users: await host.users(),
    preferences: expectOk(await host.get('/v1/users/ada/preferences')),
    durable,
    byAccessToken: (await host.get('/v1/groups', bearer)).status,
  };
}

async function accessTokenOf({ url, id, secret }: Project): Promise<string> {
  const signed_app_token = jwt({ app_id: id, iat: seconds(Date.now()) }, secret);
  const answer = await send(url, 'POST', '/v1/authorize', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ signed_app_token }),
  });
  return expectOk<{ access_token: string }>(answer).access_token;
}

test(
  'docs/operations.md: the embedded store moves to PostgreSQL with all of its data',
  { skip: skipsPostgres },
  () =>
    withDatabase((databaseUrl) =>
      withDataDir((directory) =>
        withServe(join(directory, 'data'), KNOWN, async ({ url }) => {
          assert.deepEqual(others, []);
          await using old = closing(hostOf(url));
          await old.seed({
            users: [
              { id: 'ada', name: 'Ada' },
              { id: 'bob', status: 'deleted' },
            ],
            groups: [{ id: 'g', name: 'G', members: ['ada', 'bob'], metadata: { plan: 'team' } }],
          });
          const value = { sendViaMessenger: false };
          expectDone(await old.put('/v1/ada/preferences', { key: 'notification_channels', value }));
          await new Presence(old).set('ada', { page: 'intro' }, { durable: true });
          const accessToken = await accessTokenOf(old);

          await runInBash([`DATABASE='${databaseUrl}'`, copy], { url, directory });
          const env = { ROLLCALL_DATABASE_URL: databaseUrl };
          await withServe(
            join(directory, 'none'),
            [],
            async (target) => {
              await using moved = closing(hostOf(target.url));
              assert.deepEqual(await readings(moved, accessToken), await readings(old, accessToken));
            },
            { env },
          );
        }),
      ),
    ),
);
