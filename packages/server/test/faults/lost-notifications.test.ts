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

/** Cuts the writer off, writes, and lets the time pass in which every stream has to be right again. */
async function assertRightAfter(write: (world: World) => Promise<void>): Promise<void> {
  await withWorld(async (world) => {
    const { reader, proxy, clock } = world;
    const open = () =>
      Promise.all(FILTERS.map((filter) => StreamReader.open(reader.project, pathOf(filter))));
    const streams = await open();
    for (const stream of streams) await stream.snapshot();
    proxy.cut();
    await write(world);
    for (let second = 0; second < RIGHT_WITHIN_S; second += 1) {
      clock.move(1_000);
      await delay(SETTLED_MS);
    }
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
