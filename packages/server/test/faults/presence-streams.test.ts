import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { ReaderModel } from '../realtime/reader-model.ts';
import { StreamReader } from '../realtime/stream-reader.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { OwnRedis, skipsOwnRedis, until } from '../support/own-redis.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';

const path = '/v1/groups/g/presence';

/** Of real time, for what is under way after each second of the clock. */
const SETTLED_MS = 20;

const isEnd = ({ events }: StreamReader, id: string) => events.at(-1)?.data.id === id;

/** A server whose presence is in a Redis of the test's own. */
async function withRedis(
  use: (presence: Presence, redis: OwnRedis) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  const redis = await OwnRedis.start();
  try {
    await withServer({ clock, settings: { redisUrl: redis.url } }, async (server) => {
      const { url, projectId, projectSecret, projectToken } = server;
      const project = new Project(url, projectId, projectSecret, projectToken);
      const ids = ['a', 'b', 'end'];
      await project.seed({
        users: ids.map((id) => ({ id })),
        groups: [{ id: 'g', name: 'G', members: ids }],
      });
      await use(new Presence(project), redis);
      project.close();
    });
  } finally {
    await redis.remove();
  }
}

/** Until no stream can be opened, which is said in JSON. */
async function refusedMeanwhile(project: Project): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const late = await StreamReader.open(project, path);
    late.close();
    if (late.status === 503) {
      assert.match(String(late.headers['content-type']), /^application\/json/);
      return;
    }
    assert.ok(performance.now() < deadline, `${late.status}`);
  }
}

/** Until the server reaches its Redis again. */
async function answering(presence: Presence, reader: StreamReader): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const answer = await presence.put('end', { location: { end: '1' } });
    if (answer.status === 200) break;
    assert.ok(performance.now() < deadline, answer.text);
  }
  await reader.until(
    'what is so now',
    () => reader.events.some(({ data }) => data.id === 'end') || isShown(reader),
  );
}

const isShown = ({ events }: StreamReader) =>
  events.some(
    ({ type, data }) => type === 'snapshot' && data.users.some(({ id }: { id: string }) => id === 'end'),
  );

describe('a stream while Redis is away', { skip: skipsOwnRedis }, () => {
  test('stays open, and begins anew when Redis is back with nothing in it', () =>
    withRedis(async (presence, redis) => {
      await presence.set('a', { page: '1' });
      const reader = await StreamReader.open(presence.project, path);
      await reader.snapshot();
      await redis.stop();
      await refusedMeanwhile(presence.project);
      await redis.start();
      await answering(presence, reader);
      assert.equal(reader.hasEnded, false);
      await presence.set('b', { page: '2' });
      await reader.until('the next arrival', () => isEnd(reader, 'b'));
      const model = new ReaderModel();
      for (const event of reader.events) model.take(event);
      assert.deepEqual(
        model.entries().map(({ id }) => id),
        ['b', 'end'],
      );
      reader.close();
    }));

  test('begins anew within 5 s when Redis was emptied and no connection broke', async () => {
    const clock = new MovedClock();
    await withRedis(async (presence, redis) => {
      await presence.set('a', { page: '1' });
      const reader = await StreamReader.open(presence.project, path);
      await reader.snapshot();
      await redis.command('FLUSHALL');
      const snapshots = () => reader.events.filter(({ type }) => type === 'snapshot').length;
      for (let second = 0; second < 4; second += 1) {
        clock.move(1_000);
        await delay(SETTLED_MS);
      }
      await reader.until('a second snapshot', () => snapshots() === 2);
      await presence.set('b', { page: '2' });
      await reader.until('the next arrival', () => isEnd(reader, 'b'));
      reader.close();
    }, clock);
  });

  test('whose reader comes back to a Redis that lost its last writes gets a snapshot, not a wrong rest', () =>
    withRedis(async (presence, redis) => {
      const reader = await StreamReader.open(presence.project, path);
      await reader.snapshot();
      await presence.set('a', { page: '1' });
      await reader.told(1);
      await redis.command('SAVE');
      await presence.set('b', { page: '2' });
      const known = (await reader.told(2)).at(-1)?.id as string;
      reader.close();
      await reader.ended();
      await redis.stop();
      await redis.start();
      await until('presence is written again', async () => {
        return (await presence.put('end', { location: { page: '3' } })).status === 200;
      });
      const open = () => StreamReader.open(presence.project, path, { 'last-event-id': known });
      let back = await open();
      await until('streams are opened again', async () => {
        if (back.status !== 200) back = await open();
        return back.status === 200;
      });
      await back.snapshot();
      const model = new ReaderModel();
      for (const event of back.events) model.take(event);
      assert.deepEqual(model.entries(), await presence.everyone());
      back.close();
    }));
});
