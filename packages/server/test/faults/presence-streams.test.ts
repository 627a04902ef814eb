import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { ReaderModel } from '../realtime/reader-model.ts';
import { closing } from '../support/closing.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { type Location, Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const path = '/v1/groups/g/presence';

const isEnd = ({ events }: StreamReader, id: string) => events.at(-1)?.data.id === id;

/** A server whose presence is in a Redis of the test's own. */
async function withRedis(
  use: (presence: Presence, redis: OwnRedis) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  await using redis = await OwnRedis.start();
  await withServer({ clock, settings: { redisUrl: redis.url } }, async (server) => {
    await using project = closing(Project.of(server));
    await project.seedGroup('g', 'a', 'b', 'end');
    await use(new Presence(project), redis);
  });
}

/** Resolves when no stream can be opened. */
const untilRejected = (project: Project) =>
  until('503 in JSON', async () => {
    using late = await StreamReader.open(project, path);
    return late.status === 503 && /^application\/json/.test(String(late.headers['content-type']));
  });

/** Sets the user `end` present as soon as Redis answers. */
const setPresent = (presence: Presence, location: Location) =>
  until('presence is written again', async () => (await presence.put('end', { location })).status === 200);

describe('a stream while Redis is away', { skip: skipsOwnRedis }, () => {
  test('a presence stream while Redis is away stays open, and continues with a new snapshot when Redis is back and empty', () =>
    withRedis(async (presence, redis) => {
      await presence.set('a', { page: '1' });
      using reader = await StreamReader.open(presence.project, path);
      await reader.snapshot();
      await redis.stop();
      await untilRejected(presence.project);
      await redis.start();
      await setPresent(presence, { end: '1' });
      await reader.until('the new state', () => ReaderModel.of(reader.events).has('end'));
      assert.equal(reader.hasEnded, false);
      await presence.set('b', { page: '2' });
      await reader.until('the next arrival', () => isEnd(reader, 'b'));
      const entries = ReaderModel.of(reader.events).entries();
      assert.deepEqual(
        entries.map(({ id }) => id),
        ['b', 'end'],
      );
    }));

  test('a presence stream continues with a new snapshot within 5 s when Redis was emptied and no connection broke', async () => {
    const clock = new MovedClock();
    await withRedis(async (presence, redis) => {
      await presence.set('a', { page: '1' });
      using reader = await StreamReader.open(presence.project, path);
      await reader.snapshot();
      await redis.command('FLUSHALL');
      const snapshots = () => reader.events.filter(({ type }) => type === 'snapshot').length;
      await presence.pass(clock, 4);
      await reader.until('a second snapshot', () => snapshots() === 2);
      await presence.set('b', { page: '2' });
      await reader.until('the next arrival', () => isEnd(reader, 'b'));
    }, clock);
  });

  test('a reader that resumes on a Redis that lost its last writes gets a snapshot, not events of another history', () =>
    withRedis(async (presence, redis) => {
      const reader = await StreamReader.open(presence.project, path);
      await reader.snapshot();
      await presence.set('a', { page: '1' });
      await reader.changes(1);
      await redis.command('SAVE');
      await presence.set('b', { page: '2' });
      const known = (await reader.changes(2)).at(-1)?.id as string;
      reader.close();
      await reader.ended();
      await redis.stop();
      await redis.start();
      await setPresent(presence, { page: '3' });
      const open = () => StreamReader.open(presence.project, path, { 'last-event-id': known });
      let back = await open();
      await until('streams are opened again', async () => {
        if (back.status !== 200) back = await open();
        return back.status === 200;
      });
      await back.snapshot();
      assert.deepEqual(ReaderModel.of(back.events).entries(), await presence.everyone());
      back.close();
    }));
});
