import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const HEARTBEAT_SECONDS = 15;
const USERS = Array.from({ length: 300 }, (_, index) => `u${index + 1_000}`);
const WIDE = 'x'.repeat(900);

/** Bytes that wait before changes are left out. */
const WAITING_MAX = 256 * 1_024;
const CREATED = new Set(['user.created']);

const known = ({ parser }: SimulatedSink) => {
  const model = new ReaderModel();
  for (const event of parser.events) model.take(event);
  return model.entries();
};

/** Half a megabyte of events for a reader who stopped reading and continues. */
async function withMuchMissed(world: StreamWorld): Promise<[slow: SimulatedSink, quick: SimulatedSink]> {
  await world.seed(USERS);
  const [slow, quick] = [await world.open(), await world.open()];
  slow.stop();
  for (const id of USERS) await world.move(id, WIDE);
  await world.until('all of it', () => quick.changes.length === USERS.length);
  slow.trickle(slow.writableLength);
  await world.pass(1);
  return [slow, quick];
}

describe('a slow reader', () => {
  test('a slow reader who receives a few bytes now and then is not disconnected', () =>
    withStreams({}, async (world) => {
      const [slow, quick] = await withMuchMissed(world);
      let heartbeats = 0;
      for (; slow.parser.lastEventId !== quick.parser.lastEventId; heartbeats += 1) {
        assert.ok(heartbeats < 100, 'it comes to an end');
        slow.trickle(20_000);
        await world.pass(HEARTBEAT_SECONDS);
        assert.equal(slow.ended, null, `after ${heartbeats} heartbeats`);
      }
      assert.ok(heartbeats > 20, `${heartbeats} heartbeats`);
      assert.deepEqual(known(slow), known(quick));
      slow.flow();
      await world.move('u1000', 'y');
      await world.until('what follows', () => slow.changes.at(-1)?.data.location.line === 'y');
    }));

  test('a slow reader who stops in the middle of a text is disconnected', () =>
    withStreams({}, async (world) => {
      const [slow, quick] = await withMuchMissed(world);
      slow.trickle(100_000);
      await world.pass(8 * HEARTBEAT_SECONDS);
      assert.equal(slow.ended, null);
      await world.pass(HEARTBEAT_SECONDS);
      assert.equal(slow.ended, 'at once');
      assert.equal(quick.ended, null);
    }));

  test('a slow reader gets whole events of a long batch', () =>
    withStreams({ writesPerSecond: [1], users: USERS }, async (world) => {
      const sink = await world.open();
      await world.move('u1000', '0');
      await world.until('the first', () => sink.changes.length === 1);
      for (const id of USERS) await world.move(id, WIDE);
      sink.stop();
      // All events are sent at once, and the reader receives nothing.
      await world.pass(2);
      const waiting = sink.writableLength;
      assert.ok(waiting > 0 && waiting <= 16_384, `${waiting} bytes`);
      await world.move('u1000', '1');
      await world.pass(2);
      assert.equal(sink.writableLength, waiting, 'nothing more is written');
      sink.flow();
      await world.pass(2);
      await world.until('the rest', () => sink.changes.at(-1)?.data.location.line === '1');
      assert.equal(known(sink).length, USERS.length);
    }));

  test('a slow reader gets the last event, also where another one continued earlier from the same event', () =>
    withStreams({ users: ['ann'] }, async (world) => {
      const [quick, early, late] = [await world.open(), await world.open(), await world.open()];
      const move = async (line: string) => {
        await world.move('ann', line);
        await world.until('the move', () => quick.lines.at(-1) === `ann ${line}`);
      };
      early.stop();
      late.stop();
      for (const line of ['1', '2']) await move(line);
      for (const sink of [early, late]) {
        sink.flow();
        await world.pass(1);
        assert.equal(sink.lines.at(-1), quick.lines.at(-1));
        await move('3');
      }
    }));

  test('a slow reader in the middle of a text is disconnected instead of getting another snapshot', () =>
    withStreams({}, async (world) => {
      const [slow, quick] = await withMuchMissed(world);
      assert.ok(slow.writableLength > 0);
      // The lease of the watch runs out unnoticed, as when a machine sleeps, and the group is read again.
      world.clock.jump(120_000);
      await world.move('u1000', '2');
      await world.until('the other snapshot', () => quick.parser.events.at(-1)?.type === 'snapshot');
      assert.equal(slow.ended, 'at once');
    }));
});

test('a group with many users at one location is sent in pieces of at most 16 KB', () =>
  withStreams({ users: USERS }, async (world) => {
    for (const id of USERS) await world.move(id, WIDE);
    const sink = await world.open();
    assert.deepEqual(known(sink).length, USERS.length);
    const largest = Math.max(...sink.written.map((bytes) => bytes.length));
    assert.ok(largest <= 16_384, `${largest} bytes`);
  }));

describe('a slow reader of changes', () => {
  const BATCHES = [
    { what: 'many records', count: 24, users: 50 },
    { what: 'one record of many changes', count: 1, users: 1_200 },
  ];
  for (const { what, count, users } of BATCHES)
    test(`a slow reader of changes is sent no more of ${what} than its network takes, and later the rest`, () =>
      withStreams({}, async (world) => {
        const { changes } = world.engine.store;
        const read = changes.read.bind(changes);
        // So the changes of one reading are fewer than those of one text.
        changes.read = (project, after, limit) => read(project, after, Math.min(limit, 2));
        for (let batch = 0; batch < count; batch += 1)
          await world.seed(
            Array.from({ length: users }, (_, index) => `${batch}-${index}-${'x'.repeat(300)}`),
          );
        const caller = { projectId: 'test-project', project: world.project, sessionId: null, ...BY_TEST };
        const session = await world.services.changeStreams.open({ caller }, null, { types: CREATED });
        const sink = new SimulatedSink();
        sink.stop();
        session.start(new SseSink(sink));
        await world.pass(40);
        assert.ok(sink.waitedMost > WAITING_MAX, `${sink.waitedMost} bytes`);
        assert.ok(sink.waitedMost < WAITING_MAX + 100_000, `${sink.waitedMost} bytes`);
        sink.flow();
        await world.until('the rest', () => sink.parser.events.length === count * users);
        session.close();
      }));
});
