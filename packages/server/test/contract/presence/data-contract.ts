import assert from 'node:assert/strict';
import type { PresentUser } from '../../../src/presence/presence-store.ts';
import { PAGE_1, PAGE_2, type PresenceScene, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

const A = { connection: 'a' };
const B = { connection: 'b' };
const RED = '{"color":"red"}';
const BLUE = '{"color":"blue"}';

/** The locations of ann with their data, as both readings answer them. */
async function dataOf(scene: PresenceScene, now = START): Promise<Pick<PresentUser, 'locations' | 'data'>> {
  const { users } = await scene.other.find({ ...SCOPE, filter: null, after: null, limit: 10, now });
  const own = await scene.other.locationsOf({ ...SCOPE, userId: 'ann', incarnation: 7, now });
  assert.deepEqual(users, own.locations.length === 0 ? [] : [{ userId: 'ann', incarnation: 7, ...own }]);
  return own;
}

const changed = (location: string, data: string | null) => ({ type: 'data', userId: 'ann', location, data });

export function dataContract(rule: Rule): void {
  rule('data are read with the location, replaced by an update, and cleared by null', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { data: RED });
    await scene.set('ann', PAGE_2);
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1, PAGE_2], data: [RED, null] });
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { data: RED });
    await scene.set('ann', PAGE_1, { data: BLUE });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1, PAGE_2], data: [BLUE, null] });
    await scene.set('ann', PAGE_1, { data: null });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1, PAGE_2] });
    const events = await watch.first(4);
    assert.equal('data' in (events[0] ?? {}) && events[0]?.type === 'arrived' && events[0].data, RED);
    assert.deepEqual(events.slice(2), [changed(PAGE_1, BLUE), changed(PAGE_1, null)]);
  });

  rule('an exact reading has the data of its location', async (scene) => {
    await scene.set('ann', PAGE_1, { ...A, data: RED });
    const filter = { location: PAGE_1, partial: false };
    const { users } = await scene.other.find({ ...SCOPE, filter, after: null, limit: 10, now: START });
    assert.deepEqual(users, [{ userId: 'ann', incarnation: 7, locations: [PAGE_1], data: [RED] }]);
  });

  rule('the data of a location are those of its newest holder', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { ...A, data: RED });
    await scene.set('ann', PAGE_1, { ...B, data: BLUE });
    await scene.set('ann', PAGE_1, { ...A, data: '{}' });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1], data: [BLUE] });
    await scene.clear('ann', PAGE_1, START, SCOPE, 'b');
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1], data: ['{}'] });
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1] });
    const events = await watch.first(4);
    assert.deepEqual(events.slice(1), [changed(PAGE_1, BLUE), changed(PAGE_1, '{}'), changed(PAGE_1, null)]);
  });

  rule('data move with their holder in an exclusive region', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { region: SITE, data: RED });
    await scene.set('ann', PAGE_2, { region: SITE });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_2], data: [RED] });
    const [, second] = await watch.first(2);
    const arrival = {
      type: 'arrived',
      userId: 'ann',
      incarnation: 7,
      location: PAGE_2,
      from: PAGE_1,
      data: RED,
    };
    assert.deepEqual(second, arrival);
  });

  rule('an older holder returns with its data', async (scene) => {
    const watch = await scene.watch();
    await scene.set('ann', PAGE_1, { ...A, region: SITE, data: RED });
    await scene.set('ann', PAGE_2, { region: SITE, data: BLUE, until: START + 1 });
    assert.deepEqual(await dataOf(scene, START + 1), { locations: [PAGE_1], data: [RED] });
    await scene.swept(START + 1);
    const [, , third] = await watch.first(3);
    const arrival = {
      type: 'arrived',
      userId: 'ann',
      incarnation: 7,
      location: PAGE_1,
      from: PAGE_2,
      data: RED,
    };
    assert.deepEqual(third, arrival);
  });

  rule('of a location in two regions the region that was set last has the data', async (scene) => {
    await scene.set('ann', PAGE_1, { data: RED });
    await scene.set('ann', PAGE_1, { region: SITE, data: BLUE });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1], data: [BLUE] });
    await scene.set('ann', PAGE_2, { region: SITE });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1, PAGE_2], data: [RED, BLUE] });
  });

  rule('data end with their presence', async (scene) => {
    await scene.set('ann', PAGE_1, { data: RED, until: START + 1 });
    await scene.set('ann', PAGE_1, { now: START + 1 });
    assert.deepEqual(await dataOf(scene, START + 1), { locations: [PAGE_1] });
    await scene.set('ann', PAGE_1, { data: RED });
    await scene.clear('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { until: START + TTL });
    assert.deepEqual(await dataOf(scene), { locations: [PAGE_1] });
  });
}
