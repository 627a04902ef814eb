/**
 * A process commits writes and cannot publish them, because its connection to Redis is cut; another process has
 * streams. Within 2 s each open and each new stream equals the reading, ephemeral and durable.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { PresenceEntry } from '@rollcall/protocol';
import { ReaderModel } from '../realtime/reader-model.ts';
import { expectDone } from '../support/expect.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { skipsPostgres } from '../support/postgres.ts';
import type { Project } from '../support/project-client.ts';
import { skipsRedis } from '../support/redis.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { type PresenceWorld, withPresence } from './two-processes.ts';

/** The time within which a stream is correct again, by the clock of its process. */
const RIGHT_WITHIN_S = 2;

const FILTERS: Record<string, string>[] = [
  {},
  { exclude_durable: 'true' },
  { location: '{"page":"1"}', partial_match: 'true' },
  { expand: 'user' },
];

const pathOf = (filter: Record<string, string>) => `/v1/groups/g/presence?${new URLSearchParams(filter)}`;

/** Waits until the events in flight make the stream equal to the reading. The clock does not move. */
const shows = (stream: StreamReader, users: readonly PresenceEntry[]) =>
  stream.until(JSON.stringify(users), () =>
    isDeepStrictEqual(ReaderModel.of(stream.events).entries(), users),
  );

/**
 * Cuts the writer's connection, writes, and moves the clock by the time within which every stream must be correct
 * again.
 */
async function assertRightAfter(write: (world: PresenceWorld) => Promise<void>): Promise<void> {
  await withPresence('writer', async (world) => {
    const { reader, proxy, clock } = world;
    const open = () => together(FILTERS.map((filter) => StreamReader.open(reader.project, pathOf(filter))));
    using streams = await open();
    for (const stream of streams) await stream.snapshot();
    proxy.cut();
    await write(world);
    await reader.pass(clock, RIGHT_WITHIN_S);
    using late = await open();
    for (const stream of late) await stream.snapshot();
    for (const [index, filter] of FILTERS.entries()) {
      const { users } = await reader.page(filter);
      for (const stream of [streams[index], late[index]]) await shows(stream as StreamReader, users);
    }
  });
}

const skip = skipsPostgres || (await skipsRedis());

describe('a presence stream after a notification was lost', { skip }, () => {
  test('a presence stream after a notification was lost equals the reading after a user was set deleted', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.put('/v1/users/a', { status: 'deleted' }));
    }));

  test('a presence stream after a notification was lost equals the reading after a member was removed from the group', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.post('/v1/groups/g/members', { remove: ['a'] }));
    }));

  test('a presence stream after a notification was lost equals the reading after a user was deleted for good', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.delete('/v1/users/a'));
    }));

  test('a presence stream after a notification was lost equals the reading after a durable location was set and another one moved', () =>
    assertRightAfter(async ({ writer }) => {
      await writer.set('a', { page: '2' }, { durable: true });
      await writer.set('b', { page: '1', line: 'z' }, { durable: true });
      await writer.set('c', { page: '1', paragraph: 'c', word: '1' }, { durable: true });
    }));

  test('a presence stream after a notification was lost equals the reading after a deleted user was set active again', () =>
    assertRightAfter(async ({ reader, writer }) => {
      expectDone(await reader.project.put('/v1/users/a', { status: 'deleted' }));
      expectDone(await writer.project.put('/v1/users/a', { status: 'active' }));
    }));

  test('a presence stream after a notification was lost equals the reading after names and pictures changed', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.put('/v1/users/a', { name: 'Ada' }));
      expectDone(await project.put('/v1/users/b', { profile_picture_url: 'https://x.example/b' }));
      expectDone(await project.put('/v1/users/c', { name: 'Cid', status: 'deleted' }));
    }));

  test('a presence stream after a notification was lost equals the reading after the group was set deleted', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    }));
});

describe('a presence stream of a user', { skip }, () => {
  const ends: Record<string, (project: Project) => Promise<void>> = {
    'removed from the group': async (project) =>
      expectDone(await project.post('/v1/groups/g/members', { remove: ['a'] })),
    'set deleted': async (project) => expectDone(await project.put('/v1/users/a', { status: 'deleted' })),
    'whose group is deleted': async (project) => expectDone(await project.delete('/v1/groups/g')),
  };
  for (const [what, write] of Object.entries(ends)) {
    test(`${what} ends after the notification was lost`, () =>
      withPresence('writer', async (world) => {
        const { reader, writer, proxy, clock } = world;
        const { id, secret } = reader.project;
        const token = jwt({ project_id: id, user_id: 'a', iat: seconds(clock.now()) }, secret);
        using stream = await StreamReader.open(reader.project, '/v1/client/presence?groupID=g', {
          authorization: `Bearer ${token}`,
        });
        await stream.snapshot();
        proxy.cut();
        await write(writer.project);
        await reader.pass(clock, RIGHT_WITHIN_S);
        await stream.ended();
      }));
  }
});

describe('ephemeral presence of an earlier membership', { skip }, () => {
  const again: Record<string, (project: Project) => Promise<void>> = {
    'a member who was removed and added again': async (project) => {
      expectDone(await project.post('/v1/groups/g/members', { remove: ['a'] }));
      expectDone(await project.post('/v1/groups/g/members', { add: ['a'] }));
    },
    'a member of a group that was deleted and made again': async (project) => {
      expectDone(await project.delete('/v1/groups/g'));
      expectDone(await project.put('/v1/groups/g', { name: 'G', members: ['a', 'b', 'c', 'd'] }));
    },
    'a user who was deleted for good and made again': async (project) => {
      expectDone(await project.delete('/v1/users/a'));
      expectDone(await project.put('/v1/users/a', {}));
      expectDone(await project.post('/v1/groups/g/members', { add: ['a'] }));
    },
  };
  for (const [who, write] of Object.entries(again)) {
    test(`ephemeral presence of an earlier membership is not shown for ${who} while Redis could not be reached`, () =>
      withPresence('writer', async (world) => {
        const { reader, writer, proxy, clock } = world;
        using open = await StreamReader.open(reader.project, pathOf({}));
        await open.snapshot();
        proxy.cut();
        await write(writer.project);
        assert.deepEqual((await reader.entryOf('a')).ephemeral.locations, []);
        assert.deepEqual(await reader.locationsOf('a'), []);
        await reader.pass(clock, RIGHT_WITHIN_S);
        using late = await StreamReader.open(reader.project, pathOf({}));
        await late.snapshot();
        for (const stream of [open, late]) await shows(stream, await reader.everyone());
        // The new membership has a presence of its own, also at the old location.
        await reader.set('a', { page: '1', line: 'a' });
        assert.deepEqual(await reader.locationsOf('a'), [{ page: '1', line: 'a' }]);
        const { users } = await reader.page();
        for (const stream of [open, late]) await shows(stream, users);
      }));
  }
});
