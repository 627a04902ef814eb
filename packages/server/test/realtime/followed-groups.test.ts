import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { writeContext } from '../../src/core/write-context.ts';
import type { PresenceStore, PresenceWatch, PresenceWatcher } from '../../src/presence/presence-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { BY_TEST } from '../support/origin.ts';
import { testSettings } from '../support/server.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

/** The watches of a PresenceStore, which a test can read and disturb. */
interface Watched {
  readonly watchers: PresenceWatcher[];
  readonly watches: PresenceWatch[];
  /** The engine is away: nothing can be watched. */
  isAway: boolean;
}

function watched(presence: PresenceStore): Watched {
  const seen: Watched = { watchers: [], watches: [], isAway: false };
  const watch = presence.watch.bind(presence);
  presence.watch = async (scope, now, watcher) => {
    if (seen.isAway) throw new StoreUnavailableError('away');
    seen.watchers.push(watcher);
    const opened = await watch(scope, now, watcher);
    seen.watches.push(opened);
    return opened;
  };
  return seen;
}

/** The next page of presence is answered when the test releases it. */
function delayedReading(presence: PresenceStore): { reads: Promise<void>; answer: () => void } {
  const snapshot = presence.snapshot.bind(presence);
  const reads = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  presence.snapshot = async (reading) => {
    presence.snapshot = snapshot;
    reads.resolve();
    await released.promise;
    return snapshot(reading);
  };
  return { reads: reads.promise, answer: released.resolve };
}

const present = ({ parser }: SimulatedSink): string[] =>
  ReaderModel.of(parser.events)
    .entries()
    .map(({ id }) => id);

const snapshots = ({ parser }: SimulatedSink) =>
  parser.events.filter(({ type }) => type === 'snapshot').length;

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

describe('an engine that is away from many groups', () => {
  const GROUPS = 30;

  interface Line {
    readonly level: number;
    readonly groups?: number;
    readonly err?: { readonly message: string };
  }

  function listening(): { log: Logger; lines: Line[] } {
    const lines: Line[] = [];
    const log = pino({ level: 'info' }, { write: (text) => lines.push(JSON.parse(text)) });
    return { log, lines };
  }

  async function openAll(world: StreamWorld, count = GROUPS): Promise<SimulatedSink[]> {
    const groups = Array.from({ length: count }, (_, index) => ({ id: `g${index}`, name: 'G' }));
    await world.services.batches.apply(
      { project: world.project, ...BY_TEST },
      {
        body: Buffer.from(JSON.stringify({ groups })),
        dryRun: false,
      },
    );
    return Promise.all(groups.map(({ id }) => world.open({ groupId: id })));
  }

  /** Opens all streams; then the engine is away. */
  async function interrupted(world: StreamWorld) {
    const seen = watched(world.engine.presence);
    const sinks = await openAll(world);
    const watchers = [...seen.watchers];
    seen.isAway = true;
    for (const watcher of watchers) watcher.onLost();
    return { seen, sinks };
  }

  test('the log has one line when the engine goes away, and one when it is back', async () => {
    const { log, lines } = listening();
    await withStreams({ log }, async (world) => {
      const { seen, sinks } = await interrupted(world);
      for (let tick = 0; tick < 4; tick += 1) await nextIteration();
      await world.pass(30);
      assert.deepEqual(
        lines.map(({ level, groups }) => [level, groups]),
        [[40, GROUPS]],
      );
      assert.equal(lines[0]?.err?.message, 'away');
      // A new stream gets an error, and there is no log line for it.
      await assert.rejects(world.open({ groupId: 'g0' }), StoreUnavailableError);
      seen.isAway = false;
      await world.pass(3);
      await world.until('snapshots', () => sinks.every((sink) => snapshots(sink) === 2));
      assert.deepEqual(
        lines.map(({ level, groups }) => [level, groups]),
        [
          [40, GROUPS],
          [30, GROUPS],
        ],
      );
      await world.pass(3);
      assert.equal(lines.length, 2);
    });
  });

  test('the log repeats once a minute that the engine is away', async () => {
    const { log, lines } = listening();
    await withStreams({ log }, async (world) => {
      await interrupted(world);
      await world.pass(150);
      assert.deepEqual(
        lines.map(({ level, groups }) => [level, groups]),
        [1, 2, 3].map(() => [40, GROUPS]),
      );
    });
  });

  test('the log reports the end of the interruption when the waiting readers are gone', async () => {
    const { log, lines } = listening();
    await withStreams({ log }, async (world) => {
      await interrupted(world);
      await world.pass(2);
      world.hubs[0]?.stop();
      await world.pass(60);
      await nextIteration();
      assert.deepEqual(
        lines.map(({ level }) => level),
        [40, 30],
      );
    });
  });

  test('the log has no interruption of a group without readers, as of a deleted project', async () => {
    const { log, lines } = listening();
    await withStreams({ log }, async (world) => {
      for (const sink of await openAll(world)) sink.onEnd();
      await world.pass(2);
      const { customerId, projectId } = testSettings('');
      const customer = { customerId: customerId as string, ...BY_TEST };
      await world.services.projects.remove(customer, projectId as string);
      await world.pass(5);
      assert.deepEqual(
        lines.filter(({ level }) => level === 40),
        [],
      );
    });
  });

  for (const [port, question] of [
    ['durablePresence', 'list'],
    ['groups', 'exists'],
  ] as const) {
    test(`the interruption lasts until the store answers ${port}.${question}`, async () => {
      const { log, lines } = listening();
      await withStreams({ log }, async (world) => {
        const seen = watched(world.engine.presence);
        const [sink] = await openAll(world, 1);
        const store = world.engine.store[port];
        const method: unknown = Reflect.get(store, question);
        const stuck = async () => {
          for (const until = world.clock.now() + 4_500; world.clock.now() < until; ) await nextIteration();
          throw new StoreUnavailableError('away');
        };
        Object.assign(store, { [question]: stuck });
        seen.watchers[0]?.onLost();
        await world.pass(90);
        const logged = () => lines.map(({ level, groups }) => [level, groups]);
        assert.deepEqual(logged(), [
          [40, 1],
          [40, 1],
        ]);
        Object.assign(store, { [question]: method });
        await world.pass(10);
        assert.deepEqual(logged().slice(2), [[30, 1]]);
        assert.equal(sink?.ended, null);
      });
    });
  }

  test('no group is read before the engine answers a ping, of which there is one a second', () =>
    withStreams({}, async (world) => {
      const { seen, sinks } = await interrupted(world);
      const { presence } = world.engine;
      await world.pass(2);
      let [pings, read] = [0, 0];
      presence.ping = async () => {
        pings += 1;
        throw new StoreUnavailableError('away');
      };
      const watch = presence.watch.bind(presence);
      presence.watch = (...args) => {
        read += 1;
        return watch(...args);
      };
      // Readings that are under way end.
      await world.pass(2);
      [pings, read] = [0, 0];
      await world.pass(20);
      assert.equal(read, 0);
      assert.ok(pings > 0 && pings <= 20, `${pings}`);
      presence.ping = async () => {};
      seen.isAway = false;
      await world.pass(3);
      await world.until('snapshots', () => sinks.every((sink) => snapshots(sink) === 2));
    }));

  test('at most 32 groups are read at once when the engine is back', () =>
    withStreams({}, async (world) => {
      const seen = watched(world.engine.presence);
      const sinks = await openAll(world, 100);
      const { presence } = world.engine;
      const watch = presence.watch.bind(presence);
      const released = Promise.withResolvers<void>();
      let [reads, most] = [0, 0];
      presence.watch = async (...args) => {
        reads += 1;
        most = Math.max(most, reads);
        await released.promise;
        reads -= 1;
        return watch(...args);
      };
      for (const watcher of [...seen.watchers]) watcher.onLost();
      await world.pass(3);
      assert.equal(reads, 32);
      released.resolve();
      await world.until('snapshots', () => sinks.every((sink) => snapshots(sink) === 2));
      assert.equal(most, 32);
    }));
});
