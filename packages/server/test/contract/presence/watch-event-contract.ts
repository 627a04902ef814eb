import assert from 'node:assert/strict';
import type { GroupEvent, PresenceEvent } from '../../../src/presence/presence-store.ts';
import {
  at,
  INCARNATION,
  PAGE_1,
  PAGE_2,
  PAGE_3,
  type PresenceScene,
  type Rule,
  SCOPE,
  SITE,
  START,
  TTL,
} from './presence-scene.ts';
import type { WatchRecorder } from './watch-recorder.ts';

const APP = at({ app: 'a' });
const LATER = { now: START + TTL };

const arrived = (userId: string, location: string, from: string | null = null): PresenceEvent => ({
  type: 'arrived',
  userId,
  incarnation: INCARNATION,
  location,
  from,
});
const departed = (userId: string, location: string, reason: 'absent' | 'expired'): PresenceEvent => ({
  type: 'departed',
  userId,
  location,
  reason,
});

/**
 * The events of all changes that were awaited before. A last change marks their end, so no test waits for a time
 * without events.
 */
async function received(scene: PresenceScene, recorder: WatchRecorder): Promise<PresenceEvent[]> {
  const location = at({ end: `${recorder.events.length}` });
  await scene.set('the end', location, LATER);
  for (let count = 1; ; count += 1) {
    const events = await recorder.first(count);
    const last = events.at(-1) as PresenceEvent;
    if (last.type === 'arrived' && last.location === location) {
      recorder.assertOrder();
      return events.slice(0, -1);
    }
  }
}

/** The changes that are events for watchers, and those that are not. */
export function watchEventContract(rule: Rule): void {
  rule(
    'an arrival is an arrived event, and a move inside a region names the left location',
    async (scene) => {
      const recorder = await scene.watch();
      await scene.set('ann', PAGE_1, { region: SITE });
      await scene.set('ann', PAGE_2, { region: SITE });
      await scene.set('ann', PAGE_3);
      await scene.set('ann', SITE, { region: SITE });
      assert.deepEqual(await received(scene, recorder), [
        arrived('ann', PAGE_1),
        arrived('ann', PAGE_2, PAGE_1),
        arrived('ann', PAGE_3),
        arrived('ann', SITE, PAGE_2),
      ]);
    },
  );

  rule('a refresh is no event, and neither is the same location in another region', async (scene) => {
    await scene.set('ann', PAGE_1);
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1, { now: START + 1 });
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_1, { region: SITE, now: START + 1 });
    assert.deepEqual(await received(scene, recorder), []);
  });

  rule('a location that another region still has is not left', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_1, { region: APP });
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_2, { region: SITE });
    await scene.set('ann', PAGE_2, { region: APP });
    assert.deepEqual(await received(scene, recorder), [
      arrived('ann', PAGE_2),
      arrived('ann', PAGE_2, PAGE_1),
    ]);
  });

  rule('an absence is one departed event, from however many regions', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { region: SITE });
    const recorder = await scene.watch();
    await scene.clear('ann', PAGE_1);
    await scene.clear('ann', PAGE_1);
    await scene.clear('ann', PAGE_2);
    await scene.clear('bob', PAGE_1);
    assert.deepEqual(await received(scene, recorder), [departed('ann', PAGE_1, 'absent')]);
  });

  rule('each expiry of a sweep is one departed event, on whatever handle it runs', async (scene) => {
    const recorder = await scene.watch();
    const ids = Array.from({ length: 300 }, (_, index) => `u${index + 1_000}`);
    await Promise.all(ids.map((id) => scene.set(id, PAGE_1)));
    const { now } = LATER;
    await Promise.all([scene.store.sweep(now), scene.other.sweep(now), scene.store.sweep(now)]);
    await scene.store.sweep(now + TTL - 1);
    const events = (await received(scene, recorder)).slice(ids.length);
    const inOrder = events.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    assert.deepEqual(
      inOrder,
      ids.map((id) => departed(id, PAGE_1, 'expired')),
    );
  });

  rule(
    'a location in several regions has its departed event at the last of their deadlines',
    async (scene) => {
      await scene.set('ann', PAGE_1, { until: START + 1_000 });
      await scene.set('ann', PAGE_1, { region: SITE, until: START + 3_000 });
      const recorder = await scene.watch();
      await scene.store.sweep(START + 1_000);
      await scene.set('bob', PAGE_1);
      await scene.store.sweep(START + 3_000);
      assert.deepEqual(await received(scene, recorder), [
        arrived('bob', PAGE_1),
        departed('ann', PAGE_1, 'expired'),
      ]);
    },
  );

  rule(
    'an update that replaces an unswept expired location has its departed event, and no sweep does',
    async (scene) => {
      await scene.set('ann', PAGE_1, { region: SITE });
      const recorder = await scene.watch({ now: START + TTL - 1 });
      await scene.set('ann', PAGE_2, { region: SITE, ...LATER });
      await scene.store.sweep(LATER.now);
      assert.deepEqual(await received(scene, recorder), [arrived('ann', PAGE_2, PAGE_1)]);
    },
  );

  rule('an update after the deadline is an arrived event, swept or not', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1);
    const recorder = await scene.watch({ now: START + TTL - 1 });
    await scene.set('ann', PAGE_1, LATER);
    await scene.store.sweep(LATER.now);
    await scene.set('bob', PAGE_1, LATER);
    assert.deepEqual(await received(scene, recorder), [
      arrived('ann', PAGE_1),
      departed('bob', PAGE_1, 'expired'),
      arrived('bob', PAGE_1),
    ]);
  });

  rule(
    'a usersRemoved event names all removed users, present or not, and there is no departed event',
    async (scene) => {
      await scene.set('ann', PAGE_1);
      const recorder = await scene.watch();
      await scene.store.removeUsers(SCOPE, ['ann', 'bob'], START);
      await scene.store.removeUsers(SCOPE, [], START);
      await scene.store.sweep(LATER.now);
      assert.deepEqual(await received(scene, recorder), [{ type: 'usersRemoved', userIds: ['ann', 'bob'] }]);
    },
  );

  rule(
    'a large set of removed users comes as several removed events that name each user once',
    async (scene) => {
      const ids = Array.from({ length: 2_500 }, (_, index) => `u${index + 1_000}`);
      await scene.set(ids[0] as string, PAGE_1);
      const recorder = await scene.watch();
      await scene.store.removeUsers(SCOPE, ids, START);
      const events = await received(scene, recorder);
      assert.ok(events.length > 1, 'several events');
      const named = events.map((event) => (event.type === 'usersRemoved' ? event.userIds : []));
      assert.ok(named.every(({ length }) => length > 0 && length <= 1_000));
      assert.deepEqual(named.flat(), ids);
    },
  );

  rule('a removed group has a groupRemoved event, and a later arrival an arrived event', async (scene) => {
    await scene.set('ann', PAGE_1);
    const recorder = await scene.watch();
    await scene.store.removeGroup(SCOPE, START);
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await received(scene, recorder), [{ type: 'groupRemoved' }, arrived('ann', PAGE_1)]);
  });

  rule(
    'each watched group of a removed project has a groupRemoved event, with or without presence',
    async (scene) => {
      await scene.set('ann', PAGE_1);
      const recorders = [await scene.watch(), await scene.watch({ groupId: 'empty' })];
      const elsewhere = await scene.watch({ project: 'other' });
      await scene.store.removeProject(SCOPE.project, START);
      await scene.set('ann', PAGE_1, { project: 'other' });
      for (const recorder of recorders) assert.deepEqual(await recorder.first(1), [{ type: 'groupRemoved' }]);
      assert.deepEqual(await elsewhere.first(1), [arrived('ann', PAGE_1)]);
    },
  );

  rule('a published change is an event in its order, and published twice it is two events', async (scene) => {
    const events: GroupEvent[] = [
      { type: 'durable', userId: 'ann', location: PAGE_1, at: START, from: null },
      { type: 'durable', userId: 'ann', location: PAGE_2, at: START + 1, from: PAGE_1 },
      { type: 'users', userIds: ['ann', 'b "\\\u{1f600}'] },
      { type: 'profiles', userIds: ['ann'] },
      { type: 'group' },
    ];
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1);
    for (const event of [...events, ...events]) await scene.store.publish(SCOPE, event, START);
    assert.deepEqual(await received(scene, recorder), [arrived('ann', PAGE_1), ...events, ...events]);
  });

  rule('a change up to a position of the record is published once, and later ones are', async (scene) => {
    const recorder = await scene.watch();
    const event = (id: string): GroupEvent => ({ type: 'users', userIds: [id] });
    await scene.store.publish(SCOPE, event('a'), START, 2);
    await scene.other.publish(SCOPE, event('b'), START, 2);
    await scene.other.publish(SCOPE, event('c'), START, 1);
    await scene.store.publish(SCOPE, event('d'), START);
    await scene.other.publish(SCOPE, event('e'), START, 3);
    assert.deepEqual(await received(scene, recorder), [event('a'), event('d'), event('e')]);
  });

  rule('a watch receives no events of other groups and projects', async (scene) => {
    const recorder = await scene.watch();
    for (const other of [
      { ...SCOPE, groupId: 'another' },
      { ...SCOPE, project: 'another' },
    ]) {
      await scene.watch(other);
      await scene.set('ann', PAGE_1, other);
      await scene.store.publish(other, { type: 'group' }, START);
      await scene.store.removeUsers(other, ['ann'], START);
      await scene.store.removeGroup(other, START);
    }
    assert.deepEqual(await received(scene, recorder), []);
  });
}
