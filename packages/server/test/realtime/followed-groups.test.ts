import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { writeContext } from '../../src/core/changes/write-context.ts';
import type { PresenceStore, PresenceWatch } from '../../src/presence/presence-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { withStreams } from './stream-world.ts';
import { snapshots, watched } from './watched-presence.ts';

/** The next page of presence is answered when the test releases it. */
function delayedReading(presence: PresenceStore): { reads: Promise<void>; answer: () => void } {
  const find = presence.find.bind(presence);
  const reads = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  presence.find = async (reading) => {
    presence.find = find;
    reads.resolve();
    await released.promise;
    return find(reading);
  };
  return { reads: reads.promise, answer: released.resolve };
}

const present = ({ parser }: SimulatedSink): string[] =>
  ReaderModel.of(parser.events)
    .entries()
    .map(({ id }) => id);

describe('reading a group', () => {
  test('a reading that takes longer than the lease of its watch is not repeated', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const seen = watched(world.engine.presence);
      const delayed = delayedReading(world.engine.presence);
      const opening = world.open();
      await delayed.reads;
      for (let round = 0; round < 8; round += 1) {
        await world.pass(20);
        await world.move('b', `${round}`);
      }
      delayed.answer();
      const sink = await opening;
      await world.until('what happened meanwhile', () => present(sink).includes('b'));
      assert.equal(seen.watches.length, 1);
    }));

  test('a group is read again where the record was read more than 100 times during a reading, and its streams show the changes', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const { store, presence } = world.engine;
      const seen = watched(presence);
      const list = store.durablePresence.list.bind(store.durablePresence);
      const [read, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      store.durablePresence.list = async (...page) => {
        const found = await list(...page);
        read.resolve();
        await answered.promise;
        return found;
      };
      const opening = world.open();
      await read.promise;
      for (let round = 0; round < 120; round += 1) {
        await store.durablePresence.put(
          world.project,
          { userId: 'a', groupId: 'g', region: '{"page":"1"}', location: `{"line":"${round}","page":"1"}` },
          writeContext(world.clock, BY_TEST),
        );
        await world.pass(1);
      }
      assert.equal(seen.watches.length, 1);
      answered.resolve();
      const sink = await opening;
      await world.pass(3);
      const line = () => ReaderModel.of(sink.parser.events).entries()[0]?.durable?.location.line;
      await world.until('the last location', () => line() === '119');
      assert.equal(seen.watches.length, 2);
    }));

  test('an event that comes between the readings of presence and of durable presence is in the stream', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { durablePresence } = world.engine.store;
      const list = durablePresence.list.bind(durablePresence);
      durablePresence.list = async (...page) => {
        durablePresence.list = list;
        await world.move('a', '1');
        return list(...page);
      };
      const sink = await world.open();
      await world.until('the event', () => present(sink).includes('a'));
    }));

  for (const [what, location, expected] of [
    ['departs', null, []],
    ['moves', '2', ['2']],
  ] as const) {
    test(`a reader who resumes on a process that read the group after presence had expired gets a snapshot when the user ${what}`, () =>
      withStreams({ mergeMs: 0, writesPerSecond: [undefined, undefined], users: ['a'] }, async (world) => {
        const before = await world.open();
        await world.move('a', '1');
        await world.until('the arrival', () => present(before).includes('a'));
        before.onEnd();
        // The time of day alone: no sweep is due.
        world.clock.jump(30_000);
        const back = await world.open({}, before.parser.lastEventId, 1);
        if (location !== null) await world.move('a', location);
        await world.pass(1);
        const lines = () =>
          ReaderModel.of([...before.parser.events, ...back.parser.events])
            .entries()
            .flatMap(({ ephemeral }) => ephemeral.locations.map(({ line }) => line));
        await world.until('the true locations', () => lines().join() === expected.join());
      }));
  }

  test('a stream with a connectionID is opened however long the engine takes to take back a release', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { presence } = world.engine;
      const retain = presence.retain.bind(presence);
      const [called, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      presence.retain = async (connection) => {
        called.resolve();
        await answered.promise;
        return retain(connection);
      };
      const opening = world.open({ viewer: { userId: 'a' }, connection: 'page' });
      await called.promise;
      await world.pass(3);
      answered.resolve();
      assert.equal(snapshots(await opening), 1);
    }));

  test('a group whose order of events is lost during a reading is read again, and a new stream gets 503', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const seen = watched(world.engine.presence);
      const delayed = delayedReading(world.engine.presence);
      const rejected = assert.rejects(world.open(), StoreUnavailableError);
      await delayed.reads;
      seen.watchers[0]?.onLost();
      // The reading has this move, and no watch has its event.
      await world.move('a', '1');
      delayed.answer();
      await rejected;
      assert.deepEqual(present(await world.open()), ['a']);
    }));
});

describe('following a group', () => {
  test('a group is not read again because an earlier watch was lost', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const seen = watched(world.engine.presence);
      const sink = await world.open();
      const renewal = Promise.withResolvers<void>();
      (seen.watches[0] as PresenceWatch).renew = () => renewal.promise;
      await world.pass(15);
      seen.watchers[0]?.onLost();
      await world.until('the second snapshot', () => snapshots(sink) === 2);
      renewal.reject(new StoreUnavailableError('late'));
      await world.pass(5);
      await world.move('a', '1');
      await world.until('the arrival', () => present(sink).length === 1);
      assert.equal(seen.watches.length, 2);
      assert.equal(snapshots(sink), 2);
    }));

  test('a group without streams is followed no longer when the clock was set back', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const seen = watched(world.engine.presence);
      const sink = await world.open();
      const { promise, resolve } = Promise.withResolvers<string>();
      (seen.watches[0] as PresenceWatch).close = () => resolve('closed');
      sink.onEnd();
      await world.pass(1);
      world.clock.jump(-3_600_000);
      await world.pass(60);
      assert.equal(await Promise.race([promise, nextIteration('open')]), 'closed');
    }));

  test('streams of a group that was created again before its removal was published continue', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const [host, viewer] = [await world.open(), await world.open({ viewer: { userId: 'a' } })];
      await world.move('a', '1');
      await world.until('the arrival', () => present(host).length === 1);
      // The process that deleted the group publishes late: a group with that ID exists again.
      await world.engine.presence.removeGroup(world.scope, world.clock.now());
      await world.move('b', '1');
      for (const sink of [host, viewer]) {
        await world.until('what is so now', () => present(sink).join() === 'b' || sink.ended !== null);
        assert.equal(sink.ended, null);
      }
    }));

  test('a reader who resumed between the removal of the group and its event gets a snapshot', () =>
    withStreams({ writesPerSecond: [undefined, undefined], users: ['a'] }, async (world) => {
      const location = { page: '1' };
      await world.put('a', { location, durable: true });
      const before = await world.open();
      assert.deepEqual(present(before), ['a']);
      const stamp = writeContext(world.clock, BY_TEST);
      await world.engine.store.groups.delete(world.project, 'g', stamp);
      await world.seed(['a']);
      const back = await world.open({}, before.parser.lastEventId, 1);
      assert.equal(snapshots(back), 0, 'the stream continues');
      await world.engine.presence.removeGroup(world.scope, world.clock.now());
      await world.until('that nobody is there', () => snapshots(back) === 1);
      assert.deepEqual(present(back), []);
    }));

  test('streams of a removed group end when the store, which was away, answers again', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sinks = [await world.open(), await world.open({ viewer: { userId: 'a' } })];
      const { store } = world.engine;
      const groupExists = store.groups.exists.bind(store);
      await world.services.groups.remove({ project: world.project, ...BY_TEST }, 'g', {});
      store.groups.exists = () => {
        store.groups.exists = groupExists;
        return Promise.reject(new StoreUnavailableError('away'));
      };
      // Sooner than every stream is checked.
      await world.pass(2);
      await world.until('the ends', () => sinks.every(({ ended }) => ended !== null));
      for (const { parser } of sinks) assert.equal(parser.events.at(-1)?.data.error, 'group_not_found');
    }));
});
