/** `rollcall new-epoch`: readers of a database that was restored from a copy, and have read further than the copy. */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { StoreSettings } from '../../src/wiring.ts';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { expectDone, expectError } from '../support/expect.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Project } from '../support/project-client.ts';
import { withDataDir } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { createWebhook, webhook } from '../support/webhook-receiver.ts';
import { rollcall, rollcallOk } from './cli-process.ts';
import { serverAt } from './migrate-store.ts';
import { embedded } from './stores.ts';

const MESSAGES = '/v1/threads/t/messages';
const URL_A = 'https://receiver.invalid/a';

const withProject = (settings: StoreSettings, use: (project: Project) => Promise<void>) =>
  serverAt(settings, async (server) => {
    const project = Project.of(server);
    await use(project);
    project.close();
  });

const flagsOf = ({ dataDir, databaseUrl }: StoreSettings) =>
  databaseUrl === null ? ['--data-dir', dataDir] : ['--database-url', databaseUrl];

const write = async (project: Project, ...ids: readonly string[]) => {
  for (const id of ids)
    expectDone(await project.put(`${MESSAGES}/${id}`, { authorID: 'ann', content: [{ text: id }] }));
};

const seed = async (project: Project) => {
  await project.seed({ users: [{ id: 'ann' }], groups: [{ id: 'g', name: 'G', members: ['ann'] }] });
  expectDone(await project.put('/v1/threads/t', { groupID: 'g', name: 'T' }));
  await createWebhook(project, 'on', URL_A);
  await createWebhook(project, 'off', URL_A, { status: 'paused' });
  await write(project, '1');
};

/** How far a reader of changes and one of a stream of messages have come. */
interface Positions {
  readonly changes: string;
  readonly messages: string;
}

async function positionsOf(project: Project): Promise<Positions> {
  using reader = await StreamReader.open(project, MESSAGES);
  await reader.until('a snapshot', () => reader.events.length > 0);
  return {
    changes: (await changesPage(project, { after: 'latest' })).next,
    messages: String(reader.parser.lastEventId),
  };
}

async function assertBeginAnew(project: Project, { changes, messages }: Positions): Promise<void> {
  expectError(await project.get(`/v1/changes?after=${changes}`), 410, 'invalid_request');
  using reader = await StreamReader.open(project, MESSAGES, { 'last-event-id': messages });
  await reader.until('an event', () => reader.events.length > 0);
  assert.equal(reader.events[0]?.type, 'snapshot');
}

/** A reader goes further than the copy, in which new writes then pass the reader's position. */
async function assertRestored(
  original: StoreSettings,
  withCopy: (use: (copy: StoreSettings) => Promise<void>) => Promise<void>,
): Promise<void> {
  await withProject(original, seed);
  await withCopy(async (copy) => {
    let positions: Positions = { changes: '', messages: '' };
    await withProject(original, async (project) => {
      await write(project, 'lost');
      positions = await positionsOf(project);
    });
    const printed = await rollcallOk(['new-epoch', ...flagsOf(copy)]);
    assert.match(printed, /^a new epoch began: .+\n$/);
    await withProject(copy, async (project) => {
      await write(project, '2', '3', '4');
      await readChanges(project, 4, { type: 'message.created' });
      await assertBeginAnew(project, positions);
      for (const [id, status] of [
        ['on', 'failing'],
        ['off', 'paused'],
      ] as const) {
        assert.equal((await webhook(project, id)).status, status);
        expectError(await project.put(`/v1/webhooks/${id}`, { status: 'active' }), 410, 'invalid_request');
        expectDone(await project.post(`/v1/webhooks/${id}/replay`, { after: 'latest' }));
        expectDone(await project.put(`/v1/webhooks/${id}`, { status: 'active' }));
      }
    });
  });
}

/** The same while a server runs, which has read the epoch of before. */
const assertBesideServer = (settings: StoreSettings) =>
  withProject(settings, async (project) => {
    await seed(project);
    const positions = await positionsOf(project);
    using open = await StreamReader.open(project, MESSAGES);
    await open.until('a snapshot', () => open.events.length > 0);
    await rollcallOk(['new-epoch', ...flagsOf(settings)]);
    await write(project, '2');
    await open.until('the end of the stream', () => open.hasEnded);
    // An error is the end for a client: it would not come back.
    assert.deepEqual(open.of('error'), []);
    await assertBeginAnew(project, positions);
  });

describe('rollcall new-epoch', () => {
  test('a position of another copy of the embedded store is answered 410 or with a snapshot, and webhooks are failing', () =>
    withDataDir((directory) => {
      const [original, copy] = [join(directory, 'original'), join(directory, 'copy')];
      return assertRestored(embedded(original), (use) => {
        cpSync(original, copy, { recursive: true });
        return use(embedded(copy));
      });
    }));

  test(
    'a position of another copy of a PostgreSQL database is answered the same',
    { skip: skipsPostgres },
    () =>
      withDataDir((dataDir) =>
        withDatabase((databaseUrl) =>
          assertRestored({ dataDir, databaseUrl }, (use) =>
            withDatabase(
              (copy) => use({ dataDir, databaseUrl: copy }),
              `TEMPLATE ${new URL(databaseUrl).pathname.slice(1)}`,
            ),
          ),
        ),
      ),
  );

  test('streams of a running server end with the epoch, and their readers begin with a snapshot', () =>
    withDataDir((dataDir) => assertBesideServer(embedded(dataDir))));

  test('streams of a server on PostgreSQL end with the epoch', { skip: skipsPostgres }, () =>
    withDataDir((dataDir) => withDatabase((databaseUrl) => assertBesideServer({ dataDir, databaseUrl }))),
  );

  test('new-epoch creates no store', () =>
    withDataDir(async (dataDir) => {
      const { code, stderr } = await rollcall(['new-epoch', '--data-dir', join(dataDir, 'none')]);
      assert.deepEqual([code, stderr.includes('there is no store in')], [1, true]);
    }));
});
