import assert from 'node:assert/strict';
import { at, PAGE_1, PAGE_2, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

const SECOND = 1_000;
const APP = at({ app: 'a' });

/** Expired presence is dropped and reported. */
export function sweepContract(rule: Rule): void {
  rule('a sweep returns the presences that reached their deadline, and no others', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + 1_400 });
    await scene.set('bob', PAGE_1, { until: START + 1_500 });
    await scene.set('cid', PAGE_1, { until: START + 1_501 });
    assert.deepEqual(await scene.swept(START + 1_399), []);
    assert.deepEqual(new Set(await scene.swept(START + 1_500)), new Set([`ann ${PAGE_1}`, `bob ${PAGE_1}`]));
    assert.deepEqual(await scene.ids(), ['cid']);
    assert.deepEqual(await scene.swept(START + 1_501), [`cid ${PAGE_1}`]);
  });

  rule('a sweep returns each expired presence once, with its project and group', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_2);
    const expiries = await scene.store.sweep(START + TTL);
    const locations = expiries.map(({ location }) => location).sort();
    assert.deepEqual(locations, [PAGE_1, PAGE_2]);
    for (const { location, ...scope } of expiries) {
      assert.deepEqual(scope, { ...SCOPE, userId: 'ann' }, `at ${location}`);
    }
    assert.deepEqual(await scene.swept(START + 10 * TTL), []);
  });

  rule('a sweep returns expiries in order of deadline second', async (scene) => {
    const seconds = [7, 3, 11, 1, 5, 2, 13];
    for (const second of seconds)
      await scene.set(`u${second}`, PAGE_1, { until: START + second * SECOND + 7 });
    const inOrder = seconds.toSorted((a, b) => a - b).map((second) => `u${second} ${PAGE_1}`);
    assert.deepEqual(await scene.swept(START + 60 * SECOND), inOrder);
  });

  rule('a refreshed presence expires at its new deadline, in order', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + SECOND });
    await scene.set('bob', PAGE_1, { until: START + 2 * SECOND });
    await scene.set('cid', PAGE_1, { until: START + 4 * SECOND });
    await scene.set('ann', PAGE_1, { until: START + 3 * SECOND });
    assert.deepEqual(await scene.swept(START + SECOND), []);
    assert.deepEqual(await scene.ids(), ['ann', 'bob', 'cid']);
    const order = ['bob', 'ann', 'cid'].map((id) => `${id} ${PAGE_1}`);
    assert.deepEqual(await scene.swept(START + 5 * SECOND), order);
  });

  rule('a presence with a shortened deadline expires at the new deadline', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + 9 * SECOND });
    await scene.set('ann', PAGE_1, { until: START + 500 });
    await scene.set('bob', PAGE_1, { until: START + 2 * SECOND });
    assert.deepEqual(await scene.swept(START + 3 * SECOND), [`ann ${PAGE_1}`, `bob ${PAGE_1}`]);
  });

  rule('a move inside a region is no expiry, and the new location has the new deadline', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_2, { region: SITE, now: START + SECOND });
    assert.deepEqual(await scene.swept(START + TTL), []);
    assert.deepEqual(await scene.swept(START + TTL + SECOND), [`ann ${PAGE_2}`]);
  });

  rule('a location in several regions expires when the last of them reaches its deadline', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + SECOND });
    await scene.set('ann', PAGE_1, { region: SITE, until: START + 3 * SECOND });
    await scene.set('ann', PAGE_1, { region: APP, until: START + 3 * SECOND + 1 });
    assert.deepEqual(await scene.swept(START + SECOND), []);
    assert.deepEqual(await scene.swept(START + 3 * SECOND), []);
    assert.deepEqual(await scene.swept(START + 4 * SECOND), [`ann ${PAGE_1}`]);
    await scene.set('bob', PAGE_1, { until: START + SECOND });
    await scene.set('bob', PAGE_1, { region: SITE, until: START + 5 * SECOND });
    assert.deepEqual(await scene.swept(START + 9 * SECOND), [`bob ${PAGE_1}`]);
  });

  rule('a late sweep returns everything that has expired', async (scene) => {
    for (const [index, id] of ['ann', 'bob', 'cid'].entries()) {
      await scene.set(id, PAGE_1, { until: START + (index + 1) * 3_600 * SECOND });
    }
    const all = ['ann', 'bob', 'cid'].map((id) => `${id} ${PAGE_1}`);
    assert.deepEqual(await scene.swept(START + 400 * 86_400 * SECOND), all);
    assert.deepEqual(await scene.ids(), []);
  });

  rule('a sweep returns a crowd that expires at once, and updates meanwhile stay', async (scene) => {
    const ids = Array.from({ length: 2_000 }, (_, index) => `u${index + 1_000}`);
    await Promise.all(ids.map((id) => scene.set(id, PAGE_1)));
    const now = START + TTL;
    const sweeping = scene.swept(now);
    const back = scene.set('u2999', PAGE_1, { now });
    const moved = scene.set('u2998', PAGE_2, { region: PAGE_1, now });
    const fresh = scene.set('new', PAGE_1, { now });
    const [expired, ...changes] = await Promise.all([sweeping, back, moved, fresh]);
    assert.ok(changes.every(({ arrived }) => arrived));
    assert.deepEqual(await scene.ids({ now }), ['new', 'u2998', 'u2999']);
    const movedFirst = changes[1]?.departed === PAGE_1;
    assert.equal(
      expired.includes(`u2998 ${PAGE_1}`),
      !movedFirst,
      'either the move or the sweep reports the expiry',
    );
    assert.deepEqual(
      expired.filter((line) => !/u299[89]/.test(line)).toSorted(),
      ids.slice(0, -2).map((id) => `${id} ${PAGE_1}`),
    );
    assert.deepEqual(await scene.swept(now), []);
  });

  rule('racing sweeps return each expired presence once between them', async (scene) => {
    const ids = Array.from({ length: 2_000 }, (_, index) => `u${index + 1_000}`);
    await Promise.all(ids.map((id) => scene.set(id, PAGE_1)));
    const now = START + TTL;
    const sweeps = await Promise.all([
      scene.store.sweep(now),
      scene.other.sweep(now),
      scene.store.sweep(now),
    ]);
    assert.deepEqual(
      sweeps
        .flat()
        .map(({ userId }) => userId)
        .sort(),
      ids,
    );
  });
}
