import assert from 'node:assert/strict';
import { at, INCARNATION, PAGE_1, PAGE_2, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

const ROUNDS = 50;
const locations = Array.from({ length: ROUNDS }, (_, index) => at({ page: `${index + 100}` }));

/** Each method is one atomic step, whichever handle it is called on. */
export function raceContract(rule: Rule): void {
  rule('racing moves inside a region leave one location, and are one chain of moves to it', async (scene) => {
    const { store, other } = scene;
    await scene.set('ann', PAGE_1, { region: SITE });
    const update = {
      ...SCOPE,
      userId: 'ann',
      incarnation: INCARNATION,
      region: SITE,
      now: START,
      expiresAt: START + TTL,
    };
    const changes = await Promise.all(
      locations.map((location, index) => (index % 2 === 0 ? store : other).set({ ...update, location })),
    );
    const left = await scene.locationsOf('ann');
    assert.equal(left.length, 1);
    assert.ok(changes.every(({ arrived }) => arrived));
    const departed = changes.map((change) => change.departed);
    assert.deepEqual(
      [...departed, ...left].sort(),
      [PAGE_1, ...locations].sort(),
      'every location was left once, except the last',
    );
  });

  rule('one of several racing updates of a location is the arrival', async ({ store, other }) => {
    const update = {
      ...SCOPE,
      userId: 'ann',
      incarnation: INCARNATION,
      region: PAGE_1,
      location: PAGE_1,
      now: START,
      expiresAt: START + TTL,
    };
    const changes = await Promise.all(
      locations.map((_, index) => (index % 2 === 0 ? store : other).set(update)),
    );
    assert.equal(changes.filter(({ arrived }) => arrived).length, 1);
    assert.equal(changes.filter(({ created }) => created).length, 1);
  });

  rule('one of several racing clears returns that the user was there', async (scene) => {
    const { store, other } = scene;
    await scene.set('ann', PAGE_1);
    const absence = { ...SCOPE, userId: 'ann', location: PAGE_1, now: START };
    const cleared = await Promise.all([store, other, store, other].map((handle) => handle.clear(absence)));
    assert.equal(cleared.filter(Boolean).length, 1);
  });

  rule('calls of one handle for a group with presence take effect in their order', async (scene) => {
    const { store } = scene;
    await scene.set('bob', PAGE_1);
    const absence = { ...SCOPE, userId: 'ann', location: PAGE_1, now: START };
    assert.deepEqual(await Promise.all([scene.set('ann', PAGE_1).then(Boolean), store.clear(absence)]), [
      true,
      true,
    ]);
    assert.deepEqual(await scene.ids(), ['bob'], 'absent after present');
    await Promise.all([scene.set('ann', PAGE_1), store.removeUsers(SCOPE, ['ann'], START)]);
    assert.deepEqual(await scene.ids(), ['bob'], 'removed after present');
    await Promise.all([scene.set('ann', PAGE_1), store.removeGroup(SCOPE, START)]);
    assert.deepEqual(await scene.ids(), [], 'the group removed after present');

    await scene.set('ann', PAGE_1, { region: SITE });
    const recorder = await scene.watch();
    const [there, back] = await Promise.all([
      scene.set('ann', PAGE_2, { region: SITE }),
      scene.set('ann', PAGE_1, { region: SITE }),
    ]);
    assert.deepEqual([there?.departed, back?.departed], [PAGE_1, PAGE_2]);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1], 'moved there and back');
    assert.equal((await recorder.first(2)).length, 2);
  });

  rule('an update that races with the removal of its group is applied whole or not at all', async (scene) => {
    for (const [round, location] of locations.entries()) {
      const scope = { ...SCOPE, groupId: `g${round}` };
      await scene.set('bob', PAGE_1, scope);
      await Promise.all([scene.set('ann', location, scope), scene.other.removeGroup(scope, START)]);
      const found = await scene.ids(scope);
      assert.ok(found.length === 0 || (found.length === 1 && found[0] === 'ann'), `found ${found}`);
      assert.deepEqual(await scene.ids({ ...scope, location }), found);
      assert.deepEqual(await scene.ids({ ...scope, location, partial: true }), found);
      assert.deepEqual((await scene.swept(START + TTL)).length, found.length);
    }
  });
}
