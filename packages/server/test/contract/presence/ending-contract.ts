import assert from 'node:assert/strict';
import {
  at,
  PAGE_1,
  PAGE_2,
  type PresenceScene,
  type Rule,
  SCOPE,
  SITE,
  START,
  TTL,
} from './presence-scene.ts';

const LATER = START + 10 * TTL;

/** Presence that ends before its deadline: by absence, by leaving a group, and by deletions. */
export function endingContract(rule: Rule): void {
  rule(
    'clear ends presence at exactly this location, and returns whether the user was there',
    async (scene) => {
      const paragraph = at({ page: '1', paragraph: '1' });
      await scene.set('ann', PAGE_1);
      await scene.set('ann', paragraph);
      await scene.set('bob', PAGE_1);
      assert.equal(await scene.clear('ann', PAGE_1), true);
      assert.deepEqual(await scene.locationsOf('ann'), [paragraph]);
      assert.deepEqual(await scene.ids({ location: PAGE_1 }), ['bob']);
      assert.equal(await scene.clear('ann', PAGE_1), false);
      assert.equal(await scene.clear('cid', PAGE_1), false);
    },
  );

  rule('clear ends the location in every region', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_1, { region: at({ app: 'a' }), until: START + 1 });
    assert.equal(await scene.clear('ann', PAGE_1, START + 1), true);
    assert.deepEqual(await scene.locationsOf('ann'), []);
    assert.deepEqual(await scene.ids(), []);
    assert.deepEqual(await scene.swept(LATER), []);
  });

  rule('an update of a cleared region is an arrival, without a departed location', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.clear('ann', PAGE_1);
    assert.deepEqual(await scene.set('ann', PAGE_2, { region: SITE }), {
      arrived: true,
      created: true,
      departed: null,
    });
  });

  rule('clear of an expired location returns false, and the sweep reports the expiry', async (scene) => {
    await scene.set('ann', PAGE_1);
    assert.equal(await scene.clear('ann', PAGE_1, START + TTL), false);
    assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
  });

  rule('removed users have no presence in the group, and no sweep reports them', async (scene) => {
    await setUsers(scene);
    await scene.store.removeUsers(SCOPE, ['ann', 'cid', 'nobody', 'ann'], START);
    assert.deepEqual(await scene.ids(), ['bob']);
    assert.deepEqual(await scene.locationsOf('ann'), []);
    assert.deepEqual(await scene.swept(LATER), [`bob ${PAGE_1}`]);
  });

  rule('removing an empty list of users changes nothing', async (scene) => {
    await setUsers(scene);
    await scene.store.removeUsers(SCOPE, [], START);
    await scene.store.removeUsers({ ...SCOPE, groupId: 'nowhere' }, ['ann'], START);
    assert.deepEqual(await scene.ids(), ['ann', 'bob', 'cid']);
  });

  rule('removed users can be set present again', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.store.removeUsers(SCOPE, ['ann'], START);
    assert.deepEqual(await scene.set('ann', PAGE_1), { arrived: true, created: true, departed: null });
    assert.deepEqual(await scene.ids(), ['ann']);
  });

  rule('a removed group has no presence, and no sweep reports it', async (scene) => {
    await setUsers(scene);
    await setUsers(scene, 'another');
    await scene.store.removeGroup(SCOPE, START);
    await scene.store.removeGroup({ ...SCOPE, groupId: 'nowhere' }, START);
    assert.deepEqual(await scene.ids(), []);
    assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true }), []);
    assert.deepEqual(await scene.ids({ groupId: 'another' }), ['ann', 'bob', 'cid']);
    assert.equal((await scene.swept(LATER)).length, 4);
    assert.deepEqual(await scene.set('ann', PAGE_2), { arrived: true, created: true, departed: null });
  });

  rule('a removed project has no presence in any group, and no sweep reports it', async (scene) => {
    await setUsers(scene);
    await setUsers(scene, 'another');
    await scene.set('ann', PAGE_1, { project: 'other' });
    await scene.store.removeProject(SCOPE.project, START);
    await scene.store.removeProject('nowhere', START);
    assert.deepEqual(await scene.ids(), []);
    assert.deepEqual(await scene.ids({ groupId: 'another' }), []);
    assert.deepEqual(await scene.swept(LATER), [`ann ${PAGE_1}`]);
  });
}

/** Three users, one of them at two locations. */
async function setUsers(scene: PresenceScene, groupId = SCOPE.groupId): Promise<void> {
  for (const id of ['ann', 'bob', 'cid']) await scene.set(id, PAGE_1, { groupId });
  await scene.set('ann', PAGE_2, { groupId });
}
