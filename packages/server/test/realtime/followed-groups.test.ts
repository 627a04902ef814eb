import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Logger, pino } from 'pino';
import { writeContext } from '../../src/core/write-context.ts';
import type { PresenceStore, PresenceWatch, PresenceWatcher } from '../../src/presence/presence-store.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

/** What a test sees and bends of the watches of a PresenceStore. */
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

/** The next page of presence is answered when the test says so. */
function heldReading(presence: PresenceStore): { reads: Promise<void>; answer: () => void } {
  const snapshot = presence.snapshot.bind(presence);
  const reads = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  presence.snapshot = async (reading) => {
    presence.snapshot = snapshot;
    reads.resolve();
    await goesOn.promise;
    return snapshot(reading);
  };
  return { reads: reads.promise, answer: goesOn.resolve };
}

function present({ parser }: SimulatedSink): string[] {
  const model = new ReaderModel();
  for (const event of parser.events) model.take(event);
  return model.entries().map(({ id }) => id);
}

const snapshots = ({ parser }: SimulatedSink) =>
  parser.events.filter(({ type }) => type === 'snapshot').length;

describe('a group that is being read', () => {
  test('for longer than a watch lasts is read once', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const seen = watched(world.engine.presence);
      const held = heldReading(world.engine.presence);
      const opening = world.open();
      await held.reads;
      for (let round = 0; round < 8; round += 1) {
        await world.pass(20);
        await world.move('b', `${round}`);
      }
      held.answer();
      const sink = await opening;
      await world.until('what happened meanwhile', () => present(sink).includes('b'));
      assert.equal(seen.watches.length, 1);
    }));

  test('is not available where its order is lost meanwhile, and is read anew', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const seen = watched(world.engine.presence);
      const held = heldReading(world.engine.presence);
      const refused = assert.rejects(world.open(), StoreUnavailableError);
      await held.reads;
      seen.watchers[0]?.onLost();
      // The reading will know of it, and nobody is told of it any more.
      await world.move('a', '1');
      held.answer();
      await refused;
      assert.deepEqual(present(await world.open()), ['a']);
    }));
});

describe('a group that is followed', () => {
  test('is not read anew because of a watch that was given up before', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
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

  test('goes on where it was made again before its end was told', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const [host, viewer] = [await world.open(), await world.open({ viewer: { userId: 'a' } })];
      await world.move('a', '1');
      await world.until('the arrival', () => present(host).length === 1);
      // What process it was deleted on is slow to tell; by now there is a group of that ID again.
      await world.engine.presence.removeGroup(world.scope, world.clock.now());
      await world.move('b', '1');
      for (const sink of [host, viewer]) {
        await world.until('what is so now', () => present(sink).join() === 'b' || sink.ended !== null);
        assert.equal(sink.ended, null);
      }
    }));

  test('is told anew to who came back between its end and the telling of it', () =>
    withStreams({ writesPerSecond: [undefined, undefined] }, async (world) => {
      await world.seed(['a']);
      const location = { page: '1' };
      await world.services.presence.put(world.project, 'a', { groupID: 'g', location, durable: true });
      const before = await world.open();
      assert.deepEqual(present(before), ['a']);
      const stamp = writeContext(world.clock);
      await world.engine.store.deleteGroup(world.project, 'g', stamp);
      await world.seed(['a']);
      const back = await world.open({}, before.parser.lastEventId, 1);
      assert.equal(snapshots(back), 0, 'it goes on');
      await world.engine.presence.removeGroup(world.scope, world.clock.now());
      await world.until('that nobody is there', () => snapshots(back) === 1);
      assert.deepEqual(present(back), []);
    }));

  test('ends for everybody where its end could be told and not be looked at', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const sinks = [await world.open(), await world.open({ viewer: { userId: 'a' } })];
      const { store } = world.engine;
      const groupExists = store.groupExists.bind(store);
      await world.services.groups.remove(world.project, 'group', 'g', {});
      store.groupExists = () => {
        store.groupExists = groupExists;
        return Promise.reject(new StoreUnavailableError('away'));
      };
      // Sooner than everybody is asked in turn.
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
    await world.services.batches.apply(world.project, {
      body: Buffer.from(JSON.stringify({ groups })),
      dryRun: false,
    });
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

  test('has one line in the log when it goes, and one when it is back', async () => {
    const { log, lines } = listening();
    await withStreams({ log }, async (world) => {
      const { seen, sinks } = await interrupted(world);
      for (let turn = 0; turn < 4; turn += 1) await nextTurn();
      await world.pass(30);
      assert.deepEqual(
        lines.map(({ level, groups }) => [level, groups]),
        [[40, GROUPS]],
      );
      assert.equal(lines[0]?.err?.message, 'away');
      // Whoever comes meanwhile is told, and makes no line of their own.
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

  test('is remembered in the log once a minute', async () => {
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

  test('is over for the log when those who waited have gone', async () => {
    const { log, lines } = listening();
    await withStreams({ log }, async (world) => {
      await interrupted(world);
      await world.pass(2);
      world.hubs[0]?.stop();
      await world.pass(60);
      await nextTurn();
      assert.deepEqual(
        lines.map(({ level }) => level),
        [40, 30],
      );
    });
  });

  for (const question of ['listDurablePresence', 'groupExists'] as const) {
    test(`is not back before the Store answers, whatever it is asked: ${question}`, async () => {
      const { log, lines } = listening();
      await withStreams({ log }, async (world) => {
        const seen = watched(world.engine.presence);
        const [sink] = await openAll(world, 1);
        const { store } = world.engine;
        const ask = store[question];
        const stuck = async () => {
          for (const until = world.clock.now() + 4_500; world.clock.now() < until; ) await nextTurn();
          throw new StoreUnavailableError('away');
        };
        Object.assign(store, { [question]: stuck });
        seen.watchers[0]?.onLost();
        await world.pass(90);
        const told = () => lines.map(({ level, groups }) => [level, groups]);
        assert.deepEqual(told(), [
          [40, 1],
          [40, 1],
        ]);
        Object.assign(store, { [question]: ask });
        await world.pass(10);
        assert.deepEqual(told().slice(2), [[30, 1]]);
        assert.equal(sink?.ended, null);
      });
    });
  }

  test('is not asked for all of them at once when it is back', () =>
    withStreams({}, async (world) => {
      const seen = watched(world.engine.presence);
      const sinks = await openAll(world, 100);
      const { presence } = world.engine;
      const watch = presence.watch.bind(presence);
      const goesOn = Promise.withResolvers<void>();
      let [asked, most] = [0, 0];
      presence.watch = async (...args) => {
        asked += 1;
        most = Math.max(most, asked);
        await goesOn.promise;
        asked -= 1;
        return watch(...args);
      };
      for (const watcher of [...seen.watchers]) watcher.onLost();
      await world.pass(3);
      assert.equal(asked, 32);
      goesOn.resolve();
      await world.until('snapshots', () => sinks.every((sink) => snapshots(sink) === 2));
      assert.equal(most, 32);
    }));
});
