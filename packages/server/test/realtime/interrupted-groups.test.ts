import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { BY_TEST } from '../support/origin.ts';
import { recordedLog } from '../support/recorded-log.ts';
import { testSettings } from '../support/server.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';
import { snapshots, watched } from './watched-presence.ts';

describe('an engine that is away from many groups', () => {
  const GROUPS = 30;

  interface Line {
    readonly level: number;
    readonly groups?: number;
    readonly err?: { readonly message: string };
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
    const { log, lines } = recordedLog<Line>();
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
    const { log, lines } = recordedLog<Line>();
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
    const { log, lines } = recordedLog<Line>();
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
    const { log, lines } = recordedLog<Line>();
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

  test('the log has no interruption where the record shows that the project was deleted before its streams end', async () => {
    const { log, lines } = recordedLog<Line>();
    await withStreams({ log }, async (world) => {
      await openAll(world, 1);
      await world.pass(2);
      // Past the services, as another process does whose message has not come yet.
      await world.engine.store.projects.delete(world.project);
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
      const { log, lines } = recordedLog<Line>();
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
