/** Writes past the services: nothing is published of them, and the record of changes alone has them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const shown = ({ parser }: SimulatedSink) =>
  ReaderModel.of(parser.events)
    .entries()
    .map(({ id }) => id)
    .join();

const snapshots = ({ parser }: SimulatedSink) =>
  parser.events.filter(({ type }) => type === 'snapshot').length;

const context = ({ clock }: StreamWorld) => ({ ...BY_TEST, now: clock.now(), revision: 'r' });

const setUser = (world: StreamWorld, userId: string, status: 'active' | 'deleted') =>
  world.engine.store.users.put(world.project, userId, { status }, context(world));

const setGroup = (world: StreamWorld, status: 'active' | 'deleted') =>
  world.engine.store.groups.put(world.project, 'g', { status }, context(world));

const setDurable = (world: StreamWorld, userId: string, line: string) =>
  world.engine.store.durablePresence.put(
    world.project,
    { userId, groupId: 'g', region: '{"page":"1"}', location: `{"line":"${line}","page":"1"}` },
    context(world),
  );

/** Users a, b and c with durable locations, and a stream on each of two processes. */
async function withTwo(use: (world: StreamWorld, sinks: readonly SimulatedSink[]) => Promise<void>) {
  await withStreams(
    { mergeMs: 0, writesPerSecond: [undefined, undefined], users: ['a', 'b', 'c'] },
    async (world) => {
      for (const id of ['a', 'b', 'c']) await setDurable(world, id, '0');
      const sinks = [await world.open({}, undefined, 0), await world.open({}, undefined, 1)];
      await world.pass(2);
      await use(world, sinks);
    },
  );
}

const until = (world: StreamWorld, sinks: readonly SimulatedSink[], expected: string) =>
  world.until(expected, () => sinks.every((sink) => shown(sink) === expected));

describe('what is recorded of a followed group', () => {
  test('users who are set deleted and active again leave a stream and come back, also those without ephemeral presence', () =>
    withTwo(async (world, sinks) => {
      // More changes than attempts that are made for one of them.
      for (let round = 0; round < 3; round += 1) {
        await setUser(world, 'a', 'deleted');
        await world.pass(2);
        await until(world, sinks, 'b,c');
        await setUser(world, 'a', 'active');
        await world.pass(2);
        await until(world, sinks, 'a,b,c');
      }
      for (const sink of sinks) assert.equal(snapshots(sink), 1);
    }));

  test('a user who was deleted before the stream was opened is shown when set active', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      for (const id of ['a', 'b']) await setDurable(world, id, '0');
      await setUser(world, 'a', 'deleted');
      const sink = await world.open();
      assert.equal(shown(sink), 'b');
      await world.pass(2);
      await setUser(world, 'a', 'active');
      await world.pass(2);
      await until(world, [sink], 'a,b');
    }));

  test('a durable update that was never published is shown to streams with a filter where a later one of the user is published first', () =>
    withStreams({ mergeMs: 0, writesPerSecond: [undefined, undefined] }, async (world) => {
      await world.seed(['a']);
      await setDurable(world, 'a', '0');
      const location = '{"line":"7","page":"1"}';
      const filter = { location: { location, partial: false }, excludeDurable: false };
      const sinks = [await world.open({ filter }, undefined, 0), await world.open({ filter }, undefined, 1)];
      await world.pass(2);
      await setDurable(world, 'a', '7');
      await world.put('a', { location: { page: '2' }, durable: true });
      await until(world, sinks, 'a');
      await world.pass(3);
      await until(world, sinks, 'a');
      for (const sink of sinks) assert.equal(snapshots(sink), 1);
    }));

  test('all members leave a stream when the group is set deleted, and come back with it', () =>
    withTwo(async (world, sinks) => {
      await setGroup(world, 'deleted');
      await world.pass(2);
      await until(world, sinks, '');
      await setGroup(world, 'active');
      await world.pass(2);
      await until(world, sinks, 'a,b,c');
    }));

  test('streams of a deleted group end after its departed events, also where its removal is found in the record first', () =>
    withTwo(async (world, sinks) => {
      await world.engine.store.groups.delete(world.project, 'g', context(world));
      await world.pass(3);
      await world.until('the ends', () => sinks.every(({ ended }) => ended !== null));
      for (const { parser } of sinks)
        assert.deepEqual(
          parser.events.slice(1).map(({ type, data }) => data.id ?? `${type} ${data.error}`),
          ['a', 'b', 'c', 'error group_not_found'],
        );
    }));

  test('a change is one event with the same ID on all processes, although each of them finds it', () =>
    withTwo(async (world, sinks) => {
      await setDurable(world, 'b', '7');
      await world.pass(3);
      await world.until('the location', () =>
        sinks.every(({ parser }) => parser.events.at(-1)?.data.location?.line === '7'),
      );
      const [one, other] = sinks.map(({ parser }) =>
        parser.events.slice(1).map(({ type, id, data }) => [type, id, data]),
      );
      assert.deepEqual(one, other);
      assert.equal(one?.length, 1);
    }));

  test('a stream shows a change within 2 s while the PresenceStore does not answer, and all are alike when it does', () =>
    withTwo(async (world, sinks) => {
      const { presence } = world.engine;
      const publish = presence.publish.bind(presence);
      const away = Promise.withResolvers<void>();
      presence.publish = (...args: Parameters<PresenceStore['publish']>) =>
        away.promise.then(() => publish(...args));
      await setUser(world, 'c', 'deleted');
      await world.pass(2);
      await until(world, sinks, 'a,b');
      away.resolve();
      await world.pass(2);
      await world.until('new snapshots', () => sinks.every((sink) => snapshots(sink) >= 2));
      await until(world, sinks, 'a,b');
    }));

  test('what is recorded under two topics at once is no interruption while the PresenceStore takes the event of the first', () =>
    withTwo(async (world, sinks) => {
      const { presence } = world.engine;
      const publish = presence.publish.bind(presence);
      const taken = Promise.withResolvers<void>();
      presence.publish = (...args: Parameters<PresenceStore['publish']>) =>
        taken.promise.then(() => publish(...args));
      await setDurable(world, 'b', '7');
      await setUser(world, 'c', 'deleted');
      await world.pass(1);
      taken.resolve();
      await world.pass(2);
      await until(world, sinks, 'a,b');
      for (const sink of sinks) assert.equal(snapshots(sink), 1);
    }));

  test('an answer of the PresenceStore that was late does not make the next event of the group an interruption', () =>
    withTwo(async (world, sinks) => {
      const { presence } = world.engine;
      const publish = presence.publish.bind(presence);
      const [answered, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      presence.publish = async (...args: Parameters<PresenceStore['publish']>) => {
        await publish(...args);
        await answered.promise;
      };
      await setDurable(world, 'b', '7');
      await world.pass(1);
      await setDurable(world, 'b', '8');
      await setUser(world, 'c', 'deleted');
      world.clock.move(1_000);
      answered.resolve();
      presence.publish = (...args: Parameters<PresenceStore['publish']>) =>
        taken.promise.then(() => publish(...args));
      for (let tick = 0; tick < 8; tick += 1) await nextIteration();
      taken.resolve();
      await world.pass(2);
      await until(world, sinks, 'a,b');
      for (const sink of sinks) assert.equal(snapshots(sink), 1);
    }));

  test('a group whose events do not come is read anew', () =>
    withTwo(async (world, sinks) => {
      world.engine.presence.publish = async () => {};
      await setUser(world, 'c', 'deleted');
      await world.pass(8);
      await until(world, sinks, 'a,b');
      for (const sink of sinks) assert.ok(snapshots(sink) >= 2);
    }));

  test('a stream continues with a new snapshot where the record was removed before it was read', () =>
    withTwo(async (world, sinks) => {
      const { store } = world.engine;
      const read = store.changes.readTopics.bind(store.changes);
      store.changes.readTopics = async (...args) => {
        store.changes.readTopics = read;
        const reading = await read(...args);
        return { ...reading, removedTo: reading.newest + 1, newest: reading.newest + 1, records: [] };
      };
      await setUser(world, 'c', 'deleted');
      await world.pass(4);
      await until(world, sinks, 'a,b');
      assert.ok(sinks.some((sink) => snapshots(sink) === 2));
    }));

  test('a stream shows what was written while its group was read, also where the record was removed before it was read', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { changes, durablePresence } = world.engine.store;
      const readTopics = changes.readTopics.bind(changes);
      const list = durablePresence.list.bind(durablePresence);
      durablePresence.list = async (...page) => {
        durablePresence.list = list;
        const found = await list(...page);
        await setDurable(world, 'a', '0');
        changes.readTopics = async (...args) => {
          changes.readTopics = readTopics;
          const reading = await readTopics(...args);
          return { ...reading, removedTo: reading.newest + 1, newest: reading.newest + 1, records: [] };
        };
        await world.pass(1);
        await world.until('the record', () => changes.readTopics === readTopics);
        return found;
      };
      const sink = await world.open();
      await world.pass(4);
      await until(world, [sink], 'a');
    }));

  test('a viewer who is removed from the group loses the stream, and other viewers do not', () =>
    withTwo(async (world) => {
      const viewers = await Promise.all(['a', 'b'].map((userId) => world.open({ viewer: { userId } })));
      await world.engine.store.members.change(world.project, 'g', { add: [], remove: ['a'] }, context(world));
      await world.pass(2);
      await world.until('the end', () => viewers[0]?.ended !== null);
      assert.equal(viewers[0]?.parser.events.at(-1)?.data.error, 'group_not_found');
      assert.equal(viewers[1]?.ended, null);
    }));
});

/** A user who arrives and is set deleted at once: one process has read that before it applies the arrival, the other one has not. */
async function withHiddenArrival(
  use: (world: StreamWorld, before: SimulatedSink, hub: number) => Promise<void>,
) {
  await withStreams(
    { mergeMs: 0, writesPerSecond: [undefined, undefined], users: ['a', 'b'] },
    async (world) => {
      const sinks = [await world.open({}, undefined, 0), await world.open({}, undefined, 1)];
      // So nothing was opened lately.
      await world.pass(12);
      const { eligibility } = world.engine.store;
      const filter = eligibility.filter.bind(eligibility);
      const [called, deleted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let calls = 0;
      eligibility.filter = async (...users) => {
        calls += 1;
        if (calls === 2) {
          called.resolve();
          await deleted.promise;
        }
        return filter(...users);
      };
      await world.move('a', '1');
      await called.promise;
      await world.until('the arrival', () => sinks.some((sink) => shown(sink) === 'a'));
      await setUser(world, 'a', 'deleted');
      deleted.resolve();
      await world.until('the departure', () => sinks.every(({ changes }) => changes.length > 0));
      const hub = sinks.findIndex((sink) => shown(sink) === '');
      await use(world, sinks[1 - hub] as SimulatedSink, hub);
    },
  );
}

const shownAfter = (before: SimulatedSink, back: SimulatedSink) =>
  ReaderModel.of([...before.parser.events, ...back.parser.events])
    .entries()
    .map(({ id }) => id)
    .join();

describe('a reader who comes from a process that has not noticed a change yet', () => {
  test('a reader who resumes before the event of a change on a process that has shown it already gets a snapshot with the event', () =>
    withHiddenArrival(async (world, before, hub) => {
      before.onEnd();
      const { events, lastEventId } = before.parser;
      assert.equal(events.at(-1)?.data.id, 'a');
      const back = await world.open({}, lastEventId, hub);
      await world.pass(3);
      await world.until('the end of the presence', () => shownAfter(before, back) === '');
    }));

  test('a reader who resumes after the event of a change on a process that had shown it before gets a snapshot', () =>
    withHiddenArrival(async (world, before, hub) => {
      const { lastEventId } = before.parser;
      const events = [...before.parser.events];
      await world.pass(3);
      const back = await world.open({}, lastEventId, hub);
      const known = () => ReaderModel.of([...events, ...back.parser.events]).entries();
      await world.until('the end of the presence', () => known().length === 0);
    }));
});
