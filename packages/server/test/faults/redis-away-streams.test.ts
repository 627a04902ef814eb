/**
 * Two processes on one database, and neither reaches Redis: what is written through one is shown on the streams of the other
 * within 2 s, from the record of changes. When Redis is back, all readers are alike.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { ReaderModel } from '../realtime/reader-model.ts';
import { clientToken } from '../support/browser.ts';
import { expectDone } from '../support/expect.ts';
import { skipsPostgres } from '../support/postgres.ts';
import { skipsRedis } from '../support/redis.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';
import { type PresenceWorld, passSeconds, withPresence } from './two-processes.ts';

const WITHIN_S = 2;
const STREAM = '/v1/groups/g/presence';
const PAGE_1 = `${STREAM}?${new URLSearchParams({ location: '{"page":"1"}', partial_match: 'true' })}`;

/** Moves the clock by the time. Readings of presence need Redis. */
const pass = ({ clock, reader }: PresenceWorld) =>
  passSeconds(clock, WITHIN_S, () => reader.project.get('/v1/groups/g'));

const idsOf = ({ events }: StreamReader) =>
  ReaderModel.of(events)
    .entries()
    .map(({ id }) => id);

const durableOf = ({ events }: StreamReader, id: string) =>
  ReaderModel.of(events)
    .entries()
    .find((entry) => entry.id === id)?.durable?.location;

const nameOf = ({ events }: StreamReader, id: string) =>
  ReaderModel.of(events)
    .entries()
    .find((entry) => entry.id === id)?.user?.name;

const skip = skipsPostgres || (await skipsRedis());

describe('streams while no process reaches Redis', { skip }, () => {
  test('a user set deleted, a removed member and a durable location are shown within 2 s, and alike when Redis is back', () =>
    withPresence('both', async (world) => {
      const { writer, reader, proxy, clock } = world;
      using streams = await together([
        StreamReader.open(reader.project, STREAM),
        StreamReader.open(reader.project, PAGE_1),
        StreamReader.open(writer.project, STREAM),
      ]);
      for (const stream of streams) await stream.snapshot();
      proxy.cut();
      expectDone(await writer.project.put('/v1/users/a', { status: 'deleted' }));
      expectDone(await writer.project.post('/v1/groups/g/members', { remove: ['b'] }));
      await writer.set('c', { page: '1', paragraph: 'new' }, { durable: true });
      await pass(world);
      for (const stream of streams) {
        await stream.until('the end of a and b', () => idsOf(stream).join() === 'c,d');
        await stream.until('the location of c', () => durableOf(stream, 'c')?.paragraph === 'new');
        assert.equal(stream.of('snapshot').length, 1, 'nothing began anew');
      }
      // A later change is shown too.
      expectDone(await writer.project.put('/v1/users/a', { status: 'active' }));
      await pass(world);
      for (const stream of streams) await stream.until('a again', () => idsOf(stream).join() === 'a,c,d');
      proxy.mend();
      await until('Redis is reached again', async () => {
        clock.move(1_000);
        return (await reader.put('d', { location: { page: '1', line: 'd' } })).status === 200;
      });
      for (const stream of streams)
        await until('a new snapshot', () => {
          clock.move(1_000);
          return stream.of('snapshot').length >= 2;
        });
      const shown = () => streams.map(({ events }) => ReaderModel.of(events).entries());
      const { users } = await reader.page({});
      for (const [index, stream] of streams.entries())
        await stream.until(`what is stored ${JSON.stringify(users)}`, () =>
          isDeepStrictEqual(shown()[index], users),
        );
    }));

  test('a name that changed is shown within 2 s with expand=user', () =>
    withPresence('both', async (world) => {
      const { writer, reader, proxy } = world;
      using stream = await StreamReader.open(reader.project, `${STREAM}?expand=user`);
      await stream.snapshot();
      proxy.cut();
      expectDone(await writer.project.put('/v1/users/a', { name: 'Ada' }));
      await pass(world);
      await stream.until('the name', () => nameOf(stream, 'a') === 'Ada');
      assert.equal(stream.of('snapshot').length, 1, 'nothing began anew');
    }));

  test('a reader who comes back with the ID of what was shown meanwhile gets a snapshot', () =>
    withPresence('both', async (world) => {
      const { writer, reader, proxy, clock } = world;
      const stream = await StreamReader.open(reader.project, STREAM);
      await stream.snapshot();
      proxy.cut();
      expectDone(await writer.project.put('/v1/users/a', { status: 'deleted' }));
      await pass(world);
      await stream.until('the end of a', () => idsOf(stream).join() === 'b,c,d');
      const { lastEventId } = stream.parser;
      stream.close();
      proxy.mend();
      for (const presence of [reader, writer]) {
        const open = () => StreamReader.open(presence.project, STREAM, { 'last-event-id': lastEventId });
        let back = await open();
        await until('streams are opened again', async () => {
          clock.move(1_000);
          if (back.status !== 200) back = await open();
          return back.status === 200;
        });
        await back.snapshot();
        back.close();
      }
    }));

  test('a stream of a client token ends within 2 s after its user left the group', () =>
    withPresence('both', async (world) => {
      const { writer, reader, proxy, clock } = world;
      const bearer = `Bearer ${clientToken(reader.project, { user_id: 'a' }, clock.now())}`;
      const paths = ['/v1/client/presence?groupID=g', '/v1/client/threads?groupID=g'];
      using streams = await together(
        paths.map((path) => StreamReader.open(reader.project, path, { authorization: bearer })),
      );
      for (const stream of streams) await stream.until('the stream', () => stream.events.length > 0);
      proxy.cut();
      expectDone(await writer.project.post('/v1/groups/g/members', { remove: ['a'] }));
      await pass(world);
      for (const stream of streams) {
        await stream.ended();
        assert.equal(stream.of('error')[0]?.data.error, 'group_not_found');
      }
    }));
});
