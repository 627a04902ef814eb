import assert from 'node:assert/strict';
import type { PresenceEvent, ToldEvent } from '../../../src/presence/presence-store.ts';
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

const placed = (userId: string, location: string, left: string | null = null): PresenceEvent => ({
  type: 'placed',
  userId,
  incarnation: INCARNATION,
  location,
  left,
});
const left = (userId: string, location: string, reason: 'absent' | 'expired'): PresenceEvent => ({
  type: 'left',
  userId,
  location,
  reason,
});

/** What the watcher is told of everything that was awaited before: a last change ends it, so that nothing is waited for. */
async function told(scene: PresenceScene, recorder: WatchRecorder): Promise<PresenceEvent[]> {
  const location = at({ end: `${recorder.events.length}` });
  await scene.set('the end', location, LATER);
  for (let count = 1; ; count += 1) {
    const events = await recorder.first(count);
    const last = events.at(-1) as PresenceEvent;
    if (last.type === 'placed' && last.location === location) {
      recorder.assertOrder();
      return events.slice(0, -1);
    }
  }
}

/** Of what those who watch are told, and of what not. */
export function watchEventContract(rule: Rule): void {
  rule('who comes is placed, and who moves inside a region has left the other place', async (scene) => {
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_2, { region: SITE });
    await scene.set('ann', PAGE_3);
    await scene.set('ann', SITE, { region: SITE });
    assert.deepEqual(await told(scene, recorder), [
      placed('ann', PAGE_1),
      placed('ann', PAGE_2, PAGE_1),
      placed('ann', PAGE_3),
      placed('ann', SITE, PAGE_2),
    ]);
  });

  rule('a refresh is silent, and so is the same place in another region', async (scene) => {
    await scene.set('ann', PAGE_1);
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1, { now: START + 1 });
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_1, { region: SITE, now: START + 1 });
    assert.deepEqual(await told(scene, recorder), []);
  });

  rule('a place that another region still holds is not left', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_1, { region: APP });
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_2, { region: SITE });
    await scene.set('ann', PAGE_2, { region: APP });
    assert.deepEqual(await told(scene, recorder), [placed('ann', PAGE_2), placed('ann', PAGE_2, PAGE_1)]);
  });

  rule('who is absent has left once, from however many regions', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { region: SITE });
    const recorder = await scene.watch();
    await scene.clear('ann', PAGE_1);
    await scene.clear('ann', PAGE_1);
    await scene.clear('ann', PAGE_2);
    await scene.clear('bob', PAGE_1);
    assert.deepEqual(await told(scene, recorder), [left('ann', PAGE_1, 'absent')]);
  });

  rule('what a sweep tells has left; each presence once, whoever sweeps', async (scene) => {
    const recorder = await scene.watch();
    const ids = Array.from({ length: 300 }, (_, index) => `u${index + 1_000}`);
    await Promise.all(ids.map((id) => scene.set(id, PAGE_1)));
    const { now } = LATER;
    await Promise.all([scene.store.sweep(now), scene.other.sweep(now), scene.store.sweep(now)]);
    await scene.store.sweep(now + TTL - 1);
    const events = (await told(scene, recorder)).slice(ids.length);
    const inOrder = events.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    assert.deepEqual(
      inOrder,
      ids.map((id) => left(id, PAGE_1, 'expired')),
    );
  });

  rule('a place that several regions held is left by the last of their deadlines', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + 1_000 });
    await scene.set('ann', PAGE_1, { region: SITE, until: START + 3_000 });
    const recorder = await scene.watch();
    await scene.store.sweep(START + 1_000);
    await scene.set('bob', PAGE_1);
    await scene.store.sweep(START + 3_000);
    assert.deepEqual(await told(scene, recorder), [placed('bob', PAGE_1), left('ann', PAGE_1, 'expired')]);
  });

  rule('a place that ended unswept and is replaced is left by that, and by no sweep', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    const recorder = await scene.watch({ now: START + TTL - 1 });
    await scene.set('ann', PAGE_2, { region: SITE, ...LATER });
    await scene.store.sweep(LATER.now);
    assert.deepEqual(await told(scene, recorder), [placed('ann', PAGE_2, PAGE_1)]);
  });

  rule('who comes back after the deadline is placed, swept or not', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1);
    const recorder = await scene.watch({ now: START + TTL - 1 });
    await scene.set('ann', PAGE_1, LATER);
    await scene.store.sweep(LATER.now);
    await scene.set('bob', PAGE_1, LATER);
    assert.deepEqual(await told(scene, recorder), [
      placed('ann', PAGE_1),
      left('bob', PAGE_1, 'expired'),
      placed('bob', PAGE_1),
    ]);
  });

  rule('those who are removed are named, present or not, and leave no place besides', async (scene) => {
    await scene.set('ann', PAGE_1);
    const recorder = await scene.watch();
    await scene.store.removeUsers(SCOPE, ['ann', 'bob'], START);
    await scene.store.removeUsers(SCOPE, [], START);
    await scene.store.sweep(LATER.now);
    assert.deepEqual(await told(scene, recorder), [{ type: 'removed', userIds: ['ann', 'bob'] }]);
  });

  rule('a large set of removed users comes as several events that name everybody once', async (scene) => {
    const ids = Array.from({ length: 2_500 }, (_, index) => `u${index + 1_000}`);
    await scene.set(ids[0] as string, PAGE_1);
    const recorder = await scene.watch();
    await scene.store.removeUsers(SCOPE, ids, START);
    const events = await told(scene, recorder);
    assert.ok(events.length > 1, 'several events');
    const named = events.map((event) => (event.type === 'removed' ? event.userIds : []));
    assert.ok(named.every(({ length }) => length > 0 && length <= 1_000));
    assert.deepEqual(named.flat(), ids);
  });

  rule('a group that is removed is gone, and whoever comes to it afterwards is placed', async (scene) => {
    await scene.set('ann', PAGE_1);
    const recorder = await scene.watch();
    await scene.store.removeGroup(SCOPE, START);
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await told(scene, recorder), [{ type: 'gone' }, placed('ann', PAGE_1)]);
  });

  rule('each watched group of a project that is removed is gone, with or without presence', async (scene) => {
    await scene.set('ann', PAGE_1);
    const recorders = [await scene.watch(), await scene.watch({ groupId: 'empty' })];
    const elsewhere = await scene.watch({ project: 'kept' });
    await scene.store.removeProject(SCOPE.project, START);
    await scene.set('ann', PAGE_1, { project: 'kept' });
    for (const recorder of recorders) assert.deepEqual(await recorder.first(1), [{ type: 'gone' }]);
    assert.deepEqual(await elsewhere.first(1), [placed('ann', PAGE_1)]);
  });

  rule('what is told is an event in its order, and told twice it is two', async (scene) => {
    const events: ToldEvent[] = [
      { type: 'durable', userId: 'ann', location: PAGE_1, at: START, left: null },
      { type: 'durable', userId: 'ann', location: PAGE_2, at: START + 1, left: PAGE_1 },
      { type: 'users', userIds: ['ann', 'b "\\\u{1f600}'], active: false },
      { type: 'users', userIds: ['ann'], active: true },
      { type: 'group', active: false },
      { type: 'group', active: true },
    ];
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1);
    for (const event of [...events, ...events]) await scene.store.tell(SCOPE, event, START);
    assert.deepEqual(await told(scene, recorder), [placed('ann', PAGE_1), ...events, ...events]);
  });

  rule('what happens in other groups and projects is not told here', async (scene) => {
    const recorder = await scene.watch();
    for (const other of [
      { ...SCOPE, groupId: 'another' },
      { ...SCOPE, project: 'another' },
    ]) {
      await scene.watch(other);
      await scene.set('ann', PAGE_1, other);
      await scene.store.tell(other, { type: 'group', active: false }, START);
      await scene.store.removeUsers(other, ['ann'], START);
      await scene.store.removeGroup(other, START);
    }
    assert.deepEqual(await told(scene, recorder), []);
  });
}
