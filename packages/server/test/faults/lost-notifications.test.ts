/**
 * A process commits writes and cannot publish them, because its way to Redis is cut; another process has streams. Within
 * 20 s each open and each new stream equals the reading, ephemeral and durable.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ReaderModel } from '../realtime/reader-model.ts';
import { StreamReader } from '../realtime/stream-reader.ts';
import { expectDone } from '../support/expect.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { type TestServer, withServer } from '../support/server.ts';
import { SlowProxy } from '../support/slow-proxy.ts';

/** Within which a stream is right again, by the clock of its process. */
const RIGHT_WITHIN_S = 20;
/** Of real time, for what is under way after each second of the clock. */
const SETTLED_MS = 20;

const FILTERS: Record<string, string>[] = [
  {},
  { exclude_durable: 'true' },
  { location: '{"page":"1"}', partial_match: 'true' },
];

interface World {
  /** The process whose way to Redis can be cut. */
  readonly writer: Presence;
  /** The process with the streams. */
  readonly reader: Presence;
  readonly proxy: SlowProxy;
  readonly clock: MovedClock;
}

async function withWorld(use: (world: World) => Promise<void>): Promise<void> {
  const redisUrl = freshRedisUrl();
  await withDatabase((databaseUrl) =>
    SlowProxy.with(redisUrl, async (proxy, throughProxy) => {
      const clock = new MovedClock();
      const reading = { clock, settings: { databaseUrl, redisUrl } };
      const writing = { clock, settings: { databaseUrl, redisUrl: throughProxy } };
      await withServer(reading, (readerServer) =>
        withServer(writing, async (writerServer) => {
          const [reader, writer] = [presenceOf(readerServer), presenceOf(writerServer)];
          const ids = ['a', 'b', 'c', 'd'];
          await reader.project.seed({
            users: ids.map((id) => ({ id })),
            groups: [{ id: 'g', name: 'G', members: ids }],
          });
          for (const id of ids) {
            await reader.set(id, { page: '1', line: id });
            await reader.set(id, { page: '1', paragraph: id }, { durable: true });
          }
          await use({ writer, reader, proxy, clock });
          writer.project.close();
          reader.project.close();
        }),
      );
    }),
  );
}

function presenceOf({ url, projectId, projectSecret, projectToken }: TestServer): Presence {
  return new Presence(new Project(url, projectId, projectSecret, projectToken));
}

const pathOf = (filter: Record<string, string>) => `/v1/groups/g/presence?${new URLSearchParams(filter)}`;

function shownBy({ events }: StreamReader) {
  const model = new ReaderModel();
  for (const event of events) model.take(event);
  return model.entries();
}

/** Lets time pass, and what is due in each second happen. */
async function pass({ clock }: World, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    clock.move(1_000);
    await delay(SETTLED_MS);
  }
}

/** Cuts the writer off, writes, and lets the time pass in which every stream has to be right again. */
async function assertRightAfter(write: (world: World) => Promise<void>): Promise<void> {
  await withWorld(async (world) => {
    const { reader, proxy } = world;
    const open = () =>
      Promise.all(FILTERS.map((filter) => StreamReader.open(reader.project, pathOf(filter))));
    const streams = await open();
    for (const stream of streams) await stream.snapshot();
    proxy.cut();
    await write(world);
    await pass(world, RIGHT_WITHIN_S);
    const late = await open();
    for (const stream of late) await stream.snapshot();
    for (const [index, filter] of FILTERS.entries()) {
      const { users } = await reader.page(filter);
      for (const [stream, which] of [
        [streams[index], 'an open'],
        [late[index], 'a new'],
      ] as const) {
        assert.deepEqual(shownBy(stream as StreamReader), users, `${which} stream of ${pathOf(filter)}`);
      }
    }
    for (const stream of [...streams, ...late]) stream.close();
  });
}

const skip = skipsPostgres || (await skipsRedis());

describe('a presence stream after a notification was lost', { skip }, () => {
  test('equals the reading: a user set deleted', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.put('/v1/users/a', { status: 'deleted' }));
    }));

  test('equals the reading: a member removed from the group', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.post('/v1/groups/g/members', { remove: ['a'] }));
    }));

  test('equals the reading: a user deleted for good', () =>
    assertRightAfter(async ({ writer: { project } }) => {
      expectDone(await project.delete('/v1/users/a'));
    }));

  test('equals the reading: a durable place set, and one moved', () =>
    assertRightAfter(async ({ writer }) => {
      await writer.set('a', { page: '2' }, { durable: true });
      await writer.set('b', { page: '1', line: 'z' }, { durable: true });
      await writer.set('c', { page: '1', paragraph: 'c' }, { durable: true });
    }));

  test('equals the reading: a user who was deleted set active again', () =>
    assertRightAfter(async ({ reader, writer }) => {
      expectDone(await reader.project.put('/v1/users/a', { status: 'deleted' }));
      expectDone(await writer.project.put('/v1/users/a', { status: 'active' }));
    }));

  test('equals the reading: the group set deleted', () =>
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
      withWorld(async (world) => {
        const { reader, writer, proxy, clock } = world;
        const { id, secret } = reader.project;
        const token = jwt({ project_id: id, user_id: 'a', iat: seconds(clock.now()) }, secret);
        const stream = await StreamReader.open(reader.project, '/v1/client/presence?groupID=g', {
          authorization: `Bearer ${token}`,
        });
        await stream.snapshot();
        proxy.cut();
        await write(writer.project);
        await pass(world, RIGHT_WITHIN_S);
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
    test(`is not shown for ${who} while Redis could not be reached`, () =>
      withWorld(async (world) => {
        const { reader, writer, proxy } = world;
        const open = await StreamReader.open(reader.project, pathOf({}));
        await open.snapshot();
        proxy.cut();
        await write(writer.project);
        assert.deepEqual((await reader.entryOf('a')).ephemeral.locations, []);
        assert.deepEqual(await reader.placesOf('a'), []);
        await pass(world, RIGHT_WITHIN_S);
        const late = await StreamReader.open(reader.project, pathOf({}));
        await late.snapshot();
        for (const stream of [open, late]) assert.deepEqual(shownBy(stream), await reader.everyone());
        // The new membership has a presence of its own, at the place of the old one too.
        await reader.set('a', { page: '1', line: 'a' });
        assert.deepEqual(await reader.placesOf('a'), [{ page: '1', line: 'a' }]);
        const { users } = await reader.page();
        for (const stream of [open, late]) {
          await stream.until('the arrival', () => stream.events.at(-1)?.data.id === 'a');
          assert.deepEqual(shownBy(stream), users);
          stream.close();
        }
      }));
  }
});
