import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { metricsText } from '../../src/metrics/metrics-text.ts';
import { manyUsers, withStreams } from './stream-world.ts';
import { snapshots } from './watched-presence.ts';

describe('the readers of one filter', () => {
  test('all readers of a filter are sent the same bytes', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sinks = await Promise.all(Array.from({ length: 700 }, () => world.open()));
      await world.until('all snapshots', () => sinks.every(({ parser }) => parser.events.length === 1));
      await world.move('a', '1');
      await world.until('the arrival', () => sinks.every((sink) => sink.changes.length === 1));
      assert.equal(
        new Set(sinks.map(({ written }) => written.at(-1))).size,
        1,
        'an event is one text of bytes',
      );
      assert.equal(
        new Set(sinks.map(({ written }) => written[0])).size,
        1,
        'and so is the snapshot of all of them',
      );
    }));

  test('while the write budget lasts, every event is sent at once, also of a user who moves often', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const sink = await world.open();
      await Promise.all(['1', '2', '3'].map((line) => world.move('a', line)));
      await world.until('all moves', () => sink.changes.length === 3);
    }));

  test('without write budget, events are merged and sent at an interval', () =>
    withStreams({ writesPerSecond: [10], users: ['a', 'b'] }, async (world) => {
      const [sink] = await Promise.all(Array.from({ length: 20 }, () => world.open()));
      assert.ok(sink !== undefined);
      await world.move('a', '1');
      await world.until('the first', () => sink.changes.length === 1);
      for (const line of ['2', '3', '4']) await world.move('a', line);
      await world.move('b', '1');
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(sink.changes.length, 1);
      // The writes so far exceed the budget of 10 a second by 20.
      world.clock.move(499);
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(sink.changes.length, 1);
      world.clock.move(20);
      await world.until('the others', () => sink.changes.length === 3);
      assert.deepEqual(sink.lines, ['a 1', 'a 4', 'b 1']);
      assert.deepEqual(sink.changes[1]?.data.from, { page: '1', line: '1' });
      const text = await metricsText(world.hubs.flatMap(({ counts }) => counts.metrics));
      assert.match(text, /^rollcall_presence_events_sent_total 3$/m);
      assert.match(text, /^rollcall_presence_events_merged_total 2$/m);
      assert.match(text, /^rollcall_presence_event_writes_total 40$/m);
    }));

  test('events that wait for the write budget are sent within 2 ms of the time when there is some again', () =>
    withStreams({ writesPerSecond: [1_000] }, async (world) => {
      await world.seed(['a']);
      const [sink] = await Promise.all(Array.from({ length: 33 }, () => world.open()));
      assert.ok(sink !== undefined);
      // 100 writes are saved up, so the fourth event owes 32.
      for (const count of [1, 2, 3, 4]) {
        await world.move('a', `${count}`);
        await world.until(`event ${count}`, () => sink.changes.length === count);
      }
      await world.move('a', '5');
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      world.clock.move(32);
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(sink.changes.length, 4);
      world.clock.move(3);
      await world.until('the last', () => sink.changes.length === 5);
    }));

  test('events that come while a batch is being sent are sent after it', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(5);
      await world.seed(ids);
      const sinks = await Promise.all(Array.from({ length: 600 }, () => world.open()));
      for (let round = 0; round < 8; round += 1) {
        await world.moveAll(ids, `${round}`);
        await nextIteration();
      }
      await world.until('everything', () => sinks.every((sink) => sink.changes.length === 40));
    }));

  test('events that are being sent when the order of events is lost are not sent to readers who have the new snapshot', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(300);
      await world.seed(ids);
      const sinks = await Promise.all(Array.from({ length: 200 }, () => world.open()));
      // They come in one event-loop tick, so they are one text, which a few readers are sent in each tick.
      for (const id of ids) await world.move(id, 'x'.repeat(900));
      await world.until('some of them', () => sinks.some(({ changes }) => changes.length > 0));
      assert.ok(sinks.some(({ changes }) => changes.length === 0));
      // The lease of the watch runs out unnoticed, as when a machine sleeps, and all presence expires.
      world.clock.jump(120_000);
      await world.move('u10000', '1');
      await world.until('new snapshots', () => sinks.every((sink) => snapshots(sink) === 2));
      await world.pass(10);
      assert.ok(sinks.every(({ parser }) => parser.events.at(-1)?.type === 'snapshot'));
    }));

  test('no event waits longer than ROLLCALL_PRESENCE_MERGE_MS, and with 0 none waits', async () => {
    for (const mergeMs of [100, 0]) {
      await withStreams({ writesPerSecond: [1], mergeMs, users: ['a'] }, async (world) => {
        const [sink] = await Promise.all(Array.from({ length: 50 }, () => world.open()));
        assert.ok(sink !== undefined);
        for (let count = 1; count <= 3; count += 1) {
          await world.move('a', `${count}`);
          if (mergeMs > 0) world.clock.move(mergeMs + 10);
          await world.until(`change ${count}`, () => {
            if (mergeMs > 0) world.clock.move(10);
            return sink.changes.length === count;
          });
        }
      });
    }
  });
});

describe('a reader who stops reading', () => {
  /** The length of the events of ten users, in bytes. */
  const BATCH_MAX = 2_000;

  test('a reader who stops reading is sent nothing more, and later gets the missed events, merged', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(10);
      await world.seed(ids);
      const slow = await world.open();
      const quick = await world.open();
      slow.stop();
      for (let round = 0; round < 20; round += 1) {
        await world.moveAll(ids, `${round}`);
        await world.until('all of it', () => quick.changes.length === 10 * (round + 1));
      }
      assert.equal(slow.changes.length, 0);
      assert.ok(slow.waitedMost < BATCH_MAX, `${slow.waitedMost} bytes`);
      slow.flow();
      world.clock.move(1_000);
      await world.until('the rest', () => slow.lines.filter((line) => line.endsWith(' 19')).length === 10);
      assert.equal(slow.changes.length, 20, 'what it was given before, and one change of each user');
    }));

  test('a reader who stops reading is disconnected when the events that it missed are no longer stored', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(10);
      await world.seed(ids);
      const slow = await world.open();
      slow.stop();
      for (let round = 0; slow.ended === null; round += 1) {
        assert.ok(round < 120, 'more events are missed than are stored');
        await world.moveAll(ids, `${round}`);
        for (let tick = 0; tick < 4; tick += 1) await nextIteration();
      }
      assert.equal(slow.ended, 'at once');
      assert.ok(slow.waitedMost < BATCH_MAX, `${slow.waitedMost} bytes`);
    }));

  test('a reader who receives nothing for two minutes is disconnected', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const [slow, quick] = [await world.open(), await world.open()];
      slow.stop();
      await world.move('a', '1');
      await world.until('the arrival', () => quick.changes.length === 1);
      for (let heartbeats = 1; heartbeats <= 8; heartbeats += 1) {
        world.clock.move(15_000);
        await world.until('a heartbeat', () => quick.parser.comments === heartbeats);
        assert.equal(slow.ended, null, `after ${heartbeats} heartbeats`);
      }
      world.clock.move(15_000);
      await world.until('the end', () => slow.ended === 'at once');
      assert.equal(quick.ended, null);
      assert.equal(world.hubs[0]?.streamCount, 1);
    }));

  test('a long snapshot is written in pieces, each when the network has received the one before', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(1_500);
      await world.seed(ids);
      await world.moveAll(ids, '1');
      const whole = await world.open();
      assert.equal(whole.parser.events[0]?.data.users.length, ids.length);
      assert.ok(whole.written.length > 5, 'in pieces');
      const session = await world.open();
      session.stop();
      assert.ok(whole.written.every((bytes) => bytes.length < 64 * 1_024));
    }));
});
