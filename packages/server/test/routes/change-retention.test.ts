/** Which positions are taken after changes were removed, by a clock that the test moves; and when streams show where they are. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { changesPage, readChanges } from '../support/change-feed.ts';
import { expectDone, expectError } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { Project } from '../support/project-client.ts';
import { withDataDir, withServer } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const HOUR_MS = 3_600_000;
const HEARTBEAT_MS = 15_000;

const clock = new MovedClock();
const server = oneServer({ clock, settings: { changesSeconds: 6 * 3_600 } });

/** Changes of users, one record each. */
async function putUsers(project: Project, ...ids: string[]): Promise<void> {
  for (const id of ids) expectDone(await project.put(`/v1/users/${id}`, { name: id }));
}

const users = async (project: Project, query = {}) =>
  (await changesPage(project, query)).changes.map(({ user }) => user);

const isGone = async (project: Project, position: string) =>
  (await project.get(`/v1/changes?after=${position}`)).status === 410;

/** Moves the clock in steps, with a request after each: each removal ends before the next one begins. */
async function pass(project: Project, hours: number): Promise<void> {
  for (let step = 0; step < hours * 4; step += 1) {
    clock.move(HOUR_MS / 4);
    await changesPage(project, { after: 'latest' });
  }
}

describe('changes older than ROLLCALL_CHANGES_SECONDS', () => {
  test('a reader who missed removed changes gets 410, and one who missed nothing is never rejected', async () => {
    const project = await server.project();
    await putUsers(project, 'a', 'b');
    const [a, b] = await readChanges(project, 2);
    await pass(project, 4);
    await putUsers(project, 'c');
    await readChanges(project, 3);
    await pass(project, 5);
    await until('the end of a', () => isGone(project, a?.id as string));
    expectError(
      await project.get(`/v1/changes?after=${a?.id}`),
      410,
      'invalid_request',
      'read everything anew',
    );
    using stream = await StreamReader.open(project, `/v1/changes?after=${a?.id}`);
    assert.equal(stream.status, 410);
    assert.deepEqual(await users(project, { after: b?.id as string }), ['c']);
    assert.deepEqual(await users(project), ['c']);
  });

  test('the positions at the end stay good when all changes are old, and new ones come after them', async () => {
    const project = await server.project();
    await putUsers(project, 'a', 'b');
    const [, b] = await readChanges(project, 2);
    const { next } = await changesPage(project, { after: 'latest' });
    assert.equal(next, b?.id);
    await pass(project, 9);
    // The embedded store keeps the newest record, which has the position.
    await until('the end of a', async () => !(await users(project)).includes('a'));
    assert.deepEqual(await users(project, { after: next }), []);
    assert.equal((await changesPage(project, { after: 'latest' })).next, next);
    await putUsers(project, 'c');
    await until('the new change', async () => (await users(project, { after: next })).length === 1);
    assert.deepEqual(await users(project, { after: next }), ['c']);
  });

  test('changes that are too old are removed at the start, also by a server that never runs for ten minutes', () =>
    withDataDir(async (dataDir) => {
      const ownClock = new MovedClock();
      const run = (use: (project: Project) => Promise<void>) =>
        withServer({ clock: ownClock, dataDir, settings: { changesSeconds: 6 * 3_600 } }, (running) =>
          use(Project.of(running)),
        );
      await run(async (project) => {
        await putUsers(project, 'a', 'b');
        await readChanges(project, 2);
      });
      ownClock.move(7 * HOUR_MS);
      await run(async (project) => {
        await putUsers(project, 'c');
        await until('the end of a', async () => !(await users(project)).includes('a'));
      });
    }));

  test('a reader within a request with several changes misses the rest of it when it is removed', async () => {
    const project = await server.project();
    await project.seed({ users: ['a', 'b', 'c'].map((id) => ({ id })) });
    const [a, , c] = await readChanges(project, 3);
    await pass(project, 4);
    await putUsers(project, 'd');
    await readChanges(project, 4);
    await pass(project, 5);
    await until('the end of the batch', () => isGone(project, a?.id as string));
    assert.deepEqual(await users(project, { after: c?.id as string }), ['d']);
  });
});

describe('the position of a stream of changes', () => {
  test('a heartbeat has the position also where the filter shows nothing, and a reader resumes from it', async () => {
    const project = await server.project();
    using reader = await StreamReader.open(project, '/v1/changes?after=latest&type=group.*');
    await putUsers(project, 'a', 'b');
    await readChanges(project, 2);
    const { next } = await changesPage(project, { after: 'latest' });
    await until('a heartbeat at the newest position', async () => {
      clock.move(HEARTBEAT_MS);
      return reader.text.includes(`:\nid: ${next}\n\n`);
    });
    assert.deepEqual(reader.events, []);
    assert.equal(reader.parser.lastEventId, next);
  });
});

describe('positions of changes', () => {
  test('writes that are rejected leave no gap: the records of a project count from 1', async () => {
    const project = await server.project();
    await putUsers(project, 'a');
    expectError(await project.put('/v1/groups/g', { name: 'G', members: ['none'] }), 401, 'user_not_found');
    const batch = { users: [{ id: 'x' }], groups: [{ id: 'g', name: 'G', members: ['none'] }] };
    expectError(await project.post('/v1/batch', batch), 401, 'user_not_found');
    expectError(await project.post('/v1/users', { id: 'a' }), 409, 'user_already_exists');
    await putUsers(project, 'b');
    const ids = (await readChanges(project, 2)).map(({ id }) => id.replace(/^[^-]+-/, ''));
    assert.deepEqual(ids, ['1-0', '2-0']);
  });
});
