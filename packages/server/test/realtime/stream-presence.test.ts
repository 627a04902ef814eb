import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { writeContext } from '../../src/core/changes/write-context.ts';
import type { Json } from '../../src/values/json.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { manyUsers, type StreamWorld, withStreams } from './stream-world.ts';

/** The durable locations that the reader knows. */
const durableOf = ({ parser }: SimulatedSink) =>
  ReaderModel.of(parser.events)
    .entries()
    .map(({ durable }) => durable?.location);

/** The users whom the reader knows. */
const shownBy = ({ parser }: SimulatedSink) =>
  ReaderModel.of(parser.events)
    .entries()
    .map(({ id }) => id);

/** A durable update of the user `a` that the store does not have. */
const durableUpdate = ({ clock }: StreamWorld) => ({
  type: 'durable' as const,
  userId: 'a',
  location: '{"page":"1"}' as Json,
  at: clock.now(),
  from: null,
});

const changeMembers = (
  { services, project }: StreamWorld,
  members: { readonly add: string[]; readonly remove: string[] },
) => services.memberships.change({ project, ...BY_TEST }, 'g', members, {});

describe('the presence that a stream shows', () => {
  test('a snapshot that is read in pages is correct while users arrive, move and depart', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(2_600);
      await world.seed(ids);
      await world.moveAll(ids.slice(0, 2_500), '0');
      const opening = world.open();
      const work: Promise<unknown>[] = [];
      for (let round = 1; round <= 20; round += 1) {
        for (const id of ids.filter((_, index) => index % 20 === round % 20))
          work.push(world.move(id, `${round}`));
        await nextIteration();
      }
      await Promise.all(work);
      const sink = await opening;
      const { users: present, offset } = await world.engine.presence.find({
        ...world.scope,
        filter: null,
        after: null,
        limit: 10_000,
        now: world.clock.now(),
      });
      await world.until('all events', () => sink.parser.lastEventId.endsWith(`-${offset}`));
      const model = ReaderModel.of(sink.parser.events);
      assert.deepEqual(
        model.entries().map(({ id, ephemeral }) => [id, ephemeral.locations]),
        present.map(({ userId, locations }) => [userId, locations.map((location) => JSON.parse(location))]),
      );
    }));

  for (const [end, endEligibility] of Object.entries({
    'being set deleted': ({ engine, project, clock }) =>
      engine.store.users.put(project, 'a', { status: 'deleted' }, writeContext(clock, BY_TEST)),
    'the membership ended': async (world) => {
      await changeMembers(world, { add: [], remove: ['a'] });
      await changeMembers(world, { add: ['a'], remove: [] });
    },
  } satisfies Record<string, (world: StreamWorld) => Promise<unknown>>))
    test(`a user who is set present after ${end} is not shown`, () =>
      withStreams({ users: ['a', 'b'] }, async (world) => {
        const sink = await world.open();
        const { store, presence } = world.engine;
        // A request that read the eligibility before the end makes this update.
        const { incarnation } = await store.eligibility.find(world.project, 'g', 'a');
        await endEligibility(world);
        const who = { userId: 'a', incarnation: incarnation as number };
        const update = { ...world.scope, ...who, region: '{"page":"1"}', location: '{"page":"1"}' };
        await presence.set({ ...update, now: world.clock.now(), expiresAt: world.clock.now() + 30_000 });
        await world.move('b', '1');
        await world.until('the other', () => sink.changes.some(({ data }) => data.id === 'b'));
        assert.deepEqual(shownBy(sink), ['b']);
      }));

  test('a durable update of a user who was set deleted is not shown, also where the user is present', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      await world.move('a', '1');
      const sink = await world.open();
      const { store, presence } = world.engine;
      await store.users.put(world.project, 'a', { status: 'deleted' }, writeContext(world.clock, BY_TEST));
      await presence.publish(world.scope, { type: 'users', userIds: ['a'] }, world.clock.now());
      await presence.publish(world.scope, durableUpdate(world), world.clock.now());
      await world.put('b', { location: { page: '1' }, durable: true });
      await world.until('the other', () => sink.changes.some(({ data }) => data.id === 'b'));
      assert.deepEqual(shownBy(sink), ['b']);
    }));

  test('a durable update that is published after its group was removed is not shown, also where the group was made again', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sink = await world.open();
      const { presence } = world.engine;
      await presence.removeGroup(world.scope, world.clock.now());
      await presence.publish(world.scope, durableUpdate(world), world.clock.now());
      await world.put('b', { location: { page: '1' }, durable: true });
      await world.until('the other', () => sink.changes.some(({ data }) => data.id === 'b'));
      assert.deepEqual(shownBy(sink), ['b']);
    }));

  test('a late durable update of the latest 10,000 removed users is compared with the store, also of one who was removed before', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sink = await world.open();
      const { presence, store } = world.engine;
      const remove = (userIds: readonly string[]) =>
        presence.removeUsers(world.scope, userIds, world.clock.now());
      const others = manyUsers(9_999);
      for (const userIds of [['a'], others, ['a'], ['z']]) await remove(userIds);
      await world.pass(1);
      const { durablePresence } = store;
      const list = durablePresence.list.bind(durablePresence);
      let compared = 0;
      durablePresence.list = (...reading) => {
        compared += 1;
        return list(...reading);
      };
      const update = durableUpdate(world);
      for (const userId of [...others.slice(0, 1), 'a'])
        await presence.publish(world.scope, { ...update, userId }, world.clock.now());
      await world.put('b', { location: { page: '1' }, durable: true });
      await world.until('the other', () => sink.changes.some(({ data }) => data.id === 'b'));
      assert.deepEqual(shownBy(sink), ['b']);
      assert.equal(compared, 1);
    }));

  test('the durable location of a user who is a member again when the removal is published is shown', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sink = await world.open();
      const location = { page: '1' };
      await world.put('a', { location, durable: true });
      await world.engine.presence.removeUsers(world.scope, ['a'], world.clock.now());
      await world.until('that', () => sink.changes.length === 3);
      assert.deepEqual(
        sink.changes.map(({ type }) => type),
        ['durable', 'departed', 'durable'],
      );
    }));

  test('durable updates that are published in another order than they were set lead to the latest location', () =>
    withStreams({ users: ['a'] }, async (world) => {
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
      await world.until('what came last', () => all.lines.at(-1) === 'a 1');
      assert.deepEqual(durableOf(all), [{ page: '2' }]);
      assert.deepEqual(durableOf(one), []);
    }));

  test('a durable update that is published after the end of its membership is not shown, also where the user is a member again', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { store, presence } = world.engine;
      const location = JSON.stringify({ page: '1' });
      const filter = { location: { location, partial: false }, excludeDurable: false };
      const [all, one] = [await world.open(), await world.open({ filter })];
      const stamp = writeContext(world.clock, BY_TEST);
      const update = { userId: 'a', groupId: 'g', region: location, location };
      const stored = await store.durablePresence.put(world.project, update, stamp);
      assert.ok(stored.kind === 'set');
      await changeMembers(world, { add: [], remove: ['a'] });
      await changeMembers(world, { add: ['a'], remove: [] });
      const { at } = stored;
      await presence.publish(world.scope, { type: 'durable', userId: 'a', location, at, from: null }, at);
      await world.move('a', '0');
      await world.until('what came after it', () => all.lines.at(-1) === 'a 0');
      assert.deepEqual(durableOf(one), []);
      world.clock.move(10);
      await world.put('a', { location: { page: '2' }, durable: true });
      await world.move('a', '1');
      await world.until('what came last', () => all.lines.at(-1) === 'a 1');
      await world.pass(5);
      assert.deepEqual(durableOf(all), [{ page: '2' }]);
      assert.deepEqual(durableOf(one), []);
    }));

  test('arrived has from only where readers have the user at that location', () =>
    withStreams({ users: ['a'] }, async (world) => {
      await world.move('a', '1');
      // It has expired, and no sweep has published that yet.
      world.clock.jump(30_000);
      const sink = await world.open();
      assert.deepEqual(sink.parser.events[0]?.data.users, []);
      await world.move('a', '2');
      await world.until('the arrival', () => sink.changes.length === 1);
      assert.deepEqual(sink.changes[0]?.data, { id: 'a', location: { page: '1', line: '2' } });
    }));

  test('every reader gets a snapshot when the order of events is lost', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sink = await world.open();
      await world.move('a', '1');
      await world.until('the arrival', () => sink.changes.length === 1);
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
      await world.until('what follows', () => sink.lines.at(-1) === 'a 3');
    }));

  test('a group without streams is no longer watched after the retention time', () =>
    withStreams({ users: ['a'] }, async (world) => {
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
