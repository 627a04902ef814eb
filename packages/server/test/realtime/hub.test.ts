import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { ServiceError } from '../../src/core/service-error.ts';
import { writeContext } from '../../src/core/write-context.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const users = (count: number) => Array.from({ length: count }, (_, index) => `u${index + 10_000}`);
const changes = ({ parser }: SimulatedSink) => parser.events.filter(({ type }) => type !== 'snapshot');
const lines = (sink: SimulatedSink) => changes(sink).map(({ data }) => `${data.id} ${data.location.line}`);

/** Every user on the line, one after the other. */
async function moveAll(world: StreamWorld, ids: readonly string[], line: string): Promise<void> {
  for (const id of ids) await world.move(id, line);
}

describe('the readers of one filter', () => {
  test('all readers of a filter are sent the same bytes', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const sinks = await Promise.all(Array.from({ length: 700 }, () => world.open()));
      await world.move('a', '1');
      await world.until('the arrival', () => sinks.every((sink) => changes(sink).length === 1));
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
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const sink = await world.open();
      await Promise.all(['1', '2', '3'].map((line) => world.move('a', line)));
      await world.until('all moves', () => changes(sink).length === 3);
    }));

  test('without write budget, events are merged and sent at an interval', () =>
    withStreams({ writesPerSecond: [10] }, async (world) => {
      await world.seed(['a', 'b']);
      const [sink] = await Promise.all(Array.from({ length: 20 }, () => world.open()));
      assert.ok(sink !== undefined);
      await world.move('a', '1');
      await world.until('the first', () => changes(sink).length === 1);
      for (const line of ['2', '3', '4']) await world.move('a', line);
      await world.move('b', '1');
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(changes(sink).length, 1);
      // The writes so far exceed the budget of 10 a second by 20.
      world.clock.move(499);
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(changes(sink).length, 1);
      world.clock.move(20);
      await world.until('the others', () => changes(sink).length === 3);
      assert.deepEqual(lines(sink), ['a 1', 'a 4', 'b 1']);
      assert.deepEqual(changes(sink)[1]?.data.from, { page: '1', line: '1' });
    }));

  test('events that come while a batch is being sent are sent after it', () =>
    withStreams({}, async (world) => {
      const ids = users(5);
      await world.seed(ids);
      const sinks = await Promise.all(Array.from({ length: 600 }, () => world.open()));
      for (let round = 0; round < 8; round += 1) {
        await moveAll(world, ids, `${round}`);
        await nextIteration();
      }
      await world.until('everything', () => sinks.every((sink) => changes(sink).length === 40));
    }));

  test('no event waits longer than ROLLCALL_PRESENCE_MERGE_MS, and with 0 none waits', async () => {
    for (const mergeMs of [100, 0]) {
      await withStreams({ writesPerSecond: [1], mergeMs }, async (world) => {
        await world.seed(['a']);
        const [sink] = await Promise.all(Array.from({ length: 50 }, () => world.open()));
        assert.ok(sink !== undefined);
        for (let count = 1; count <= 3; count += 1) {
          await world.move('a', `${count}`);
          if (mergeMs > 0) world.clock.move(mergeMs + 10);
          await world.until(`change ${count}`, () => {
            if (mergeMs > 0) world.clock.move(10);
            return changes(sink).length === count;
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
      const ids = users(10);
      await world.seed(ids);
      const slow = await world.open();
      const quick = await world.open();
      slow.stop();
      for (let round = 0; round < 20; round += 1) {
        await moveAll(world, ids, `${round}`);
        await world.until('all of it', () => changes(quick).length === 10 * (round + 1));
      }
      assert.equal(changes(slow).length, 0);
      assert.ok(slow.waitedMost < BATCH_MAX, `${slow.waitedMost} bytes`);
      slow.flow();
      world.clock.move(1_000);
      await world.until('the rest', () => lines(slow).filter((line) => line.endsWith(' 19')).length === 10);
      assert.equal(changes(slow).length, 20, 'what it was given before, and one change of each user');
    }));

  test('a reader who stops reading is disconnected when the events that it missed are no longer stored', () =>
    withStreams({}, async (world) => {
      const ids = users(10);
      await world.seed(ids);
      const slow = await world.open();
      slow.stop();
      for (let round = 0; slow.ended === null; round += 1) {
        assert.ok(round < 120, 'more events are missed than are stored');
        await moveAll(world, ids, `${round}`);
        for (let tick = 0; tick < 4; tick += 1) await nextIteration();
      }
      assert.equal(slow.ended, 'at once');
      assert.ok(slow.waitedMost < BATCH_MAX, `${slow.waitedMost} bytes`);
    }));

  test('a reader who receives nothing for two minutes is disconnected', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const [slow, quick] = [await world.open(), await world.open()];
      slow.stop();
      await world.move('a', '1');
      await world.until('the arrival', () => changes(quick).length === 1);
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
      const ids = users(1_500);
      await world.seed(ids);
      await moveAll(world, ids, '1');
      const whole = await world.open();
      assert.equal(whole.parser.events[0]?.data.users.length, ids.length);
      assert.ok(whole.written.length > 5, 'in pieces');
      const session = await world.open();
      session.stop();
      assert.ok(whole.written.every((bytes) => bytes.length < 64 * 1_024));
    }));
});

describe('the presence that a stream shows', () => {
  test('a snapshot that is read in pages is correct while users arrive, move and depart', () =>
    withStreams({}, async (world) => {
      const ids = users(2_600);
      await world.seed(ids);
      await moveAll(world, ids.slice(0, 2_500), '0');
      const opening = world.open();
      const work: Promise<unknown>[] = [];
      for (let round = 1; round <= 20; round += 1) {
        for (const id of ids.filter((_, index) => index % 20 === round % 20))
          work.push(world.move(id, `${round}`));
        await nextIteration();
      }
      await Promise.all(work);
      const sink = await opening;
      const last = await world.engine.presence.snapshot({ ...world.scope, after: null, limit: 1, now: 0 });
      await world.until('all events', () => sink.parser.lastEventId.endsWith(`-${last.offset}`));
      const model = ReaderModel.of(sink.parser.events);
      const { users: present } = await world.engine.presence.find({
        ...world.scope,
        filter: null,
        after: null,
        limit: 10_000,
        now: world.clock.now(),
      });
      assert.deepEqual(
        model.entries().map(({ id, ephemeral }) => [id, ephemeral.locations]),
        present.map(({ userId, locations }) => [userId, locations.map((location) => JSON.parse(location))]),
      );
    }));

  test('a user who is set present after being set deleted is not shown', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const sink = await world.open();
      const { store, presence } = world.engine;
      const stamp = writeContext(world.clock, BY_TEST);
      await store.users.put(world.project, 'a', { status: 'deleted' }, stamp);
      // As by a request that read the eligibility before the deletion.
      const { incarnation } = await store.eligibility.find(world.project, 'g', 'a');
      const who = { userId: 'a', incarnation: incarnation as number };
      const update = { ...world.scope, ...who, region: '{"page":"1"}', location: '{"page":"1"}' };
      await presence.set({ ...update, now: world.clock.now(), expiresAt: world.clock.now() + 30_000 });
      await world.move('b', '1');
      await world.until('the other', () => changes(sink).some(({ data }) => data.id === 'b'));
      assert.deepEqual(
        ReaderModel.of(sink.parser.events)
          .entries()
          .map(({ id }) => id),
        ['b'],
      );
    }));

  test('the durable location of a user who is a member again when the removal is published is shown', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const sink = await world.open();
      const location = { page: '1' };
      await world.services.presence.put({ project: world.project, ...BY_TEST }, 'a', {
        groupID: 'g',
        location,
        durable: true,
      });
      await world.engine.presence.removeUsers(world.scope, ['a'], world.clock.now());
      await world.until('that', () => changes(sink).length === 3);
      assert.deepEqual(
        changes(sink).map(({ type }) => type),
        ['durable', 'departed', 'durable'],
      );
    }));

  test('durable updates that are published in another order than they were set lead to the latest location', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const { store, presence } = world.engine;
      const [first, second] = [JSON.stringify({ page: '1' }), JSON.stringify({ page: '2' })];
      const all = await world.open();
      const filter = { location: { location: first, partial: false }, excludeDurable: false };
      const one = await world.open({ filter });
      const now = world.clock.now();
      const put = (location: string, at: number) =>
        store.durablePresence.put(
          world.project,
          { userId: 'a', groupId: 'g', region: '{"site":"s"}', location },
          { now: at, revision: '' as never, ...BY_TEST },
        );
      await put(first, now);
      await put(second, now + 1);
      const update = { type: 'durable', userId: 'a' } as const;
      await presence.publish(world.scope, { ...update, location: second, at: now + 1, from: first }, now);
      await presence.publish(world.scope, { ...update, location: first, at: now, from: null }, now);
      await world.move('a', '1');
      await world.until('what came last', () => lines(all).at(-1) === 'a 1');
      const known = ({ parser }: SimulatedSink) =>
        ReaderModel.of(parser.events)
          .entries()
          .map(({ durable }) => durable?.location);
      assert.deepEqual(known(all), [{ page: '2' }]);
      assert.deepEqual(known(one), []);
    }));

  test('arrived has from only where readers have the user at that location', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      await world.move('a', '1');
      // It has expired, and no sweep has published that yet.
      world.clock.jump(30_000);
      const sink = await world.open();
      assert.deepEqual(sink.parser.events[0]?.data.users, []);
      await world.move('a', '2');
      await world.until('the arrival', () => changes(sink).length === 1);
      assert.deepEqual(changes(sink)[0]?.data, { id: 'a', location: { page: '1', line: '2' } });
    }));

  test('every reader gets a snapshot when the order of events is lost', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const sink = await world.open();
      await world.move('a', '1');
      await world.until('the arrival', () => changes(sink).length === 1);
      // The lease of the watch runs out unnoticed, as when a machine sleeps.
      world.clock.jump(120_000);
      await world.move('b', '2');
      await world.until('another snapshot', () => sink.parser.events.at(-1)?.type === 'snapshot');
      const { id, data } = sink.parser.events.at(-1) as { id: string; data: { users: { id: string }[] } };
      assert.deepEqual(
        data.users.map((user) => user.id),
        ['b'],
        'the other has expired by that clock',
      );
      assert.notEqual(id.split('-')[0], sink.parser.events[0]?.id.split('-')[0], 'another epoch');
      await world.move('a', '3');
      await world.until('what follows', () => lines(sink).at(-1) === 'a 3');
    }));

  test('a group without streams is no longer watched after the retention time', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const sink = await world.open();
      const { presence } = world.engine;
      const isWatched = async () =>
        (await presence.watchedGroups(world.project, world.clock.now())).includes('g');
      for (let minute = 0; minute < 5; minute += 1) {
        for (let second = 0; second < 60; second += 1) {
          world.clock.move(1_000);
          await nextIteration();
        }
        assert.equal(await isWatched(), true, 'the lease is renewed while there is a stream');
      }
      world.hubs[0]?.stop();
      assert.equal(sink.ended, 'soon');
      for (let second = 0; second < 120; second += 1) {
        world.clock.move(1_000);
        await nextIteration();
      }
      assert.equal(await isWatched(), false);
    }));
});

describe('the end of a stream', () => {
  const rejection = new ServiceError('expired_access_token', 'expired');

  test('a stream whose token is no longer accepted ends within a minute', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const checks: number[] = [];
      const sinks = await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          world.open({
            checkCredentials: () => {
              checks.push(index);
              if (index === 7) throw rejection;
            },
          }),
        ),
      );
      for (let second = 0; second < 60; second += 1) {
        world.clock.move(1_000);
        await nextIteration();
      }
      assert.equal(new Set(checks).size, 120);
      assert.ok(checks.length <= 250, `checks ${checks.length} times`);
      assert.deepEqual(sinks[7]?.parser.events.at(-1)?.data, {
        error: 'expired_access_token',
        message: 'expired',
      });
      assert.equal(sinks.filter(({ ended }) => ended !== null).length, 1);
    }));

  test('a stream of a group that was removed without an event ends within a minute', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const sinks = [await world.open(), await world.open({ viewer: { userId: 'a' } })];
      await world.engine.store.groups.delete(world.project, 'g', writeContext(world.clock, BY_TEST));
      for (let second = 0; second < 60; second += 1) {
        world.clock.move(1_000);
        await nextIteration();
      }
      await world.until('the ends', () => sinks.every(({ ended }) => ended !== null));
      for (const { parser } of sinks) assert.equal(parser.events.at(-1)?.data.error, 'group_not_found');
    }));

  for (const [who, checks] of [
    ['a host', {}],
    ['a viewer', { viewer: { userId: 'a' } }],
  ] as const) {
    test(`a stream is not opened for ${who} when the group is removed meanwhile`, () =>
      withStreams({}, async (world) => {
        await world.seed(['a']);
        const other = await world.open();
        const { store } = world.engine;
        const list = store.durablePresence.list.bind(store);
        const reads = Promise.withResolvers<void>();
        const released = Promise.withResolvers<void>();
        // The group of before is read, and returned late, this time only.
        store.durablePresence.list = async (...args) => {
          store.durablePresence.list = list;
          const page = await list(...args);
          reads.resolve();
          await released.promise;
          return page;
        };
        const filter = { location: { location: '{"page":"1"}', partial: true }, excludeDurable: false };
        const rejected = assert.rejects(world.open({ filter, ...checks }), { code: 'group_not_found' });
        await reads.promise;
        await world.services.groups.remove({ project: world.project, ...BY_TEST }, 'g', {});
        await world.until('the end of the other', () => other.ended !== null);
        released.resolve();
        await rejected;
      }));
  }

  test('a stream is checked at once when the project or the session of its token changes', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const { actor } = BY_TEST;
      const caller = { actor, projectId: 'test-project', project: world.project, sessionId: 's' };
      let checks = 0;
      const checkCredentials = () => {
        checks += 1;
      };
      await world.open({ caller, checkCredentials });
      const { broker } = world.engine;
      await broker.publish({ type: 'project', projectId: 'another' });
      await broker.publish({ type: 'session', sessionId: 'another' });
      assert.equal(checks, 0);
      await broker.publish({ type: 'session', sessionId: 's' });
      await broker.publish({ type: 'project', projectId: 'test-project' });
      await world.until('both', () => checks === 2);
    }));

  test('an engine that is away ends no stream', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const away = () => Promise.reject(new Error('away'));
      const sink = await world.open({ checkCredentials: away });
      await world.engine.broker.publish({ type: 'project', projectId: 'test-project' });
      for (let tick = 0; tick < 20; tick += 1) await nextIteration();
      assert.equal(sink.ended, null);
    }));
});

describe('a viewer', () => {
  const ENDINGS: Readonly<Record<string, [code: string, end: (world: StreamWorld) => Promise<unknown>]>> = {
    'is deleted': [
      'user_not_found',
      ({ services, project }) => services.users.remove({ project, ...BY_TEST }, 'a', {}),
    ],
    'is set deleted': [
      'user_not_found',
      ({ services, project }) => services.users.put({ project, ...BY_TEST }, 'a', { status: 'deleted' }, {}),
    ],
    'stops being a member': [
      'group_not_found',
      ({ services, project }) =>
        services.memberships.change({ project, ...BY_TEST }, 'g', { remove: ['a'] }, {}),
    ],
    'has their group set deleted': [
      'group_not_found',
      ({ services, project }) => services.groups.put({ project, ...BY_TEST }, 'g', { status: 'deleted' }, {}),
    ],
    'has their group deleted': [
      'group_not_found',
      ({ services, project }) => services.groups.remove({ project, ...BY_TEST }, 'g', {}),
    ],
  };

  for (const [name, [code, end]] of Object.entries(ENDINGS)) {
    test(`the stream of a viewer who ${name} ends, and other streams continue`, () =>
      withStreams({}, async (world) => {
        await world.seed(['a', 'b']);
        const sink = await world.open({ viewer: { userId: 'a' } });
        const host = await world.open();
        await end(world);
        await world.until('the end', () => sink.ended !== null);
        assert.equal(sink.parser.events.at(-1)?.data.error, code);
        if (name !== 'has their group deleted') assert.equal(host.ended, null);
        await assert.rejects(world.open({ viewer: { userId: 'a' } }), { code });
      }));
  }
});
