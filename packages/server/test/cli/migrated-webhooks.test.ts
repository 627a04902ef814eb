/** Webhooks after migrate-store: their positions are of the other store, so they rest until they are replayed. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { StoreSettings } from '../../src/wiring.ts';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { expectDone, expectError } from '../support/expect.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Project } from '../support/project-client.ts';
import { withDataDir, withServer } from '../support/server.ts';
import { createWebhook, webhook } from '../support/webhook-receiver.ts';
import { rollcallOk } from './cli-process.ts';
import { embedded, flagsOf } from './stores.ts';

const URL_A = 'https://receiver.invalid/a';

const withProject = ({ dataDir, databaseUrl }: StoreSettings, use: (project: Project) => Promise<void>) =>
  withServer({ dataDir, settings: { databaseUrl, redisUrl: null } }, async (server) => {
    const project = Project.of(server);
    await use(project);
    project.close();
  });

async function assertRest(from: StoreSettings, to: StoreSettings): Promise<void> {
  let before = '';
  await withProject(from, async (project) => {
    await createWebhook(project, 'on', URL_A, { types: ['user.*'] });
    await createWebhook(project, 'off', URL_A, { status: 'paused' });
    await project.seedUsers('ann', 'bob');
    before = (await changesPage(project, { after: 'latest' })).next;
  });
  await rollcallOk(['migrate-store', ...flagsOf('from', from), ...flagsOf('to', to), '--quiet']);
  await withProject(to, async (project) => {
    await project.seedUsers('cid');
    await readChanges(project, 1, { type: 'user.created' });
    for (const [id, status] of [
      ['on', 'failing'],
      ['off', 'paused'],
    ] as const) {
      const path = `/v1/webhooks/${id}`;
      const { behind, status: found } = await webhook(project, id);
      assert.deepEqual([found, behind > 0], [status, true]);
      expectError(await project.put(path, { status: 'active' }), 410, 'invalid_request');
      expectError(await project.post(`${path}/replay`, { after: before }), 410, 'invalid_request');
      expectDone(await project.put(path, { url: `${URL_A}b` }));
      expectDone(await project.post(`${path}/replay`, { after: 'latest' }));
      assert.deepEqual((await webhook(project, id)).status, status);
      expectDone(await project.put(path, { status: 'active' }));
    }
  });
}

describe('webhooks after rollcall migrate-store', () => {
  test('a webhook whose position is gone is read with behind, is not set active (410), and goes on after a replay', () =>
    withDataDir((directory) =>
      assertRest(embedded(join(directory, 'from')), embedded(join(directory, 'to'))),
    ));

  test('a webhook whose position is gone is the same on PostgreSQL', { skip: skipsPostgres }, () =>
    withDataDir((directory) =>
      withDatabase((databaseUrl) =>
        assertRest(embedded(join(directory, 'from')), { dataDir: join(directory, 'none'), databaseUrl }),
      ),
    ),
  );
});
