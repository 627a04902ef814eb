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

/** Presence that ends before its deadline: absence, leaving, and what is deleted. */
export function endingContract(rule: Rule): void {
  rule(
    'clearing ends presence at exactly this location, and says whether the user was there',
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

  rule('clearing ends the location in every region', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_1, { region: at({ app: 'a' }), until: START + 1 });
    assert.equal(await scene.clear('ann', PAGE_1, START + 1), true);
    assert.deepEqual(await scene.locationsOf('ann'), []);
    assert.deepEqual(await scene.ids(), []);
    assert.deepEqual(await scene.swept(LATER), []);
  });

  rule('a region that was cleared has nowhere to depart from', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.clear('ann', PAGE_1);
    assert.deepEqual(await scene.set('ann', PAGE_2, { region: SITE }), {
      arrived: true,
      created: true,
      departed: null,
    });
  });

  rule('clearing what ended by its deadline is clearing nothing, and the sweep tells it', async (scene) => {
    await scene.set('ann', PAGE_1);
    assert.equal(await scene.clear('ann', PAGE_1, START + TTL), false);
    assert.deepEqual(await scene.swept(START + TTL), [`ann ${PAGE_1}`]);
  });

  rule('users who are removed are nowhere in the group, and no sweep tells it', async (scene) => {
    await everybody(scene);
    await scene.store.removeUsers(SCOPE, ['ann', 'cid', 'nobody', 'ann'], START);
    assert.deepEqual(await scene.ids(), ['bob']);
    assert.deepEqual(await scene.locationsOf('ann'), []);
    assert.deepEqual(await scene.swept(LATER), [`bob ${PAGE_1}`]);
  });

  rule('removing nobody changes nothing', async (scene) => {
    await everybody(scene);
    await scene.store.removeUsers(SCOPE, [], START);
    await scene.store.removeUsers({ ...SCOPE, groupId: 'nowhere' }, ['ann'], START);
    assert.deepEqual(await scene.ids(), ['ann', 'bob', 'cid']);
  });

  rule('users who were removed can be present again', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.store.removeUsers(SCOPE, ['ann'], START);
    assert.deepEqual(await scene.set('ann', PAGE_1), { arrived: true, created: true, departed: null });
    assert.deepEqual(await scene.ids(), ['ann']);
  });

  rule('a group that is removed has nobody, and no sweep tells it', async (scene) => {
    await everybody(scene);
    await everybody(scene, 'another');
    await scene.store.removeGroup(SCOPE, START);
    await scene.store.removeGroup({ ...SCOPE, groupId: 'nowhere' }, START);
    assert.deepEqual(await scene.ids(), []);
    assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true }), []);
    assert.deepEqual(await scene.ids({ groupId: 'another' }), ['ann', 'bob', 'cid']);
    assert.equal((await scene.swept(LATER)).length, 4);
    assert.deepEqual(await scene.set('ann', PAGE_2), { arrived: true, created: true, departed: null });
  });

  rule('a project that is removed has nobody in any group, and no sweep tells it', async (scene) => {
    await everybody(scene);
    await everybody(scene, 'another');
    await scene.set('ann', PAGE_1, { project: 'kept' });
    await scene.store.removeProject(SCOPE.project, START);
    await scene.store.removeProject('nowhere', START);
    assert.deepEqual(await scene.ids(), []);
    assert.deepEqual(await scene.ids({ groupId: 'another' }), []);
    assert.deepEqual(await scene.swept(LATER), [`ann ${PAGE_1}`]);
  });
}

/** Three users, one of them at two places. */
async function everybody(scene: PresenceScene, groupId = SCOPE.groupId): Promise<void> {
  for (const id of ['ann', 'bob', 'cid']) await scene.set(id, PAGE_1, { groupId });
  await scene.set('ann', PAGE_2, { groupId });
}
