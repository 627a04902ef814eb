import assert from 'node:assert/strict';
import { at, PAGE_1, PAGE_2, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

/** Scopes, users and regions that an engine which joins names with a separator would mix up. */
const NAMES = [
  'a',
  'a:b',
  'b:c',
  'a b',
  'a,b',
  '{a}',
  'a}',
  '{a}{b}',
  '*',
  'a|b',
  '%61',
  '\u{1f600}',
  '__proto__',
];

/** All presence is within a group of a project. */
export function scopeContract(rule: Rule): void {
  rule(
    'presence in one group does not change the same user, region and location in another group',
    async (scene) => {
      await scene.set('ann', PAGE_1, { region: SITE });
      const elsewhere = { ...SCOPE, groupId: 'another' };
      const set = await scene.set('ann', PAGE_2, { region: SITE, ...elsewhere });
      assert.deepEqual(set, { arrived: true, created: true, departed: null });
      assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
      assert.deepEqual(await scene.locationsOf('ann', START, elsewhere), [PAGE_2]);
      assert.equal(await scene.clear('ann', PAGE_1, START, elsewhere), false);
      await scene.store.removeUsers(elsewhere, ['ann'], START);
      assert.deepEqual(await scene.ids(), ['ann']);
    },
  );

  rule('presence in one project does not change the same group in another project', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1, { project: 'another' });
    assert.deepEqual(await scene.ids(), ['ann']);
    await scene.store.removeGroup({ ...SCOPE, project: 'another' }, START);
    assert.deepEqual(await scene.ids(), ['ann']);
    assert.deepEqual(await scene.ids({ project: 'another' }), []);
  });

  rule('groups with any characters in their IDs do not affect each other', async (scene) => {
    const scopes = NAMES.flatMap((project) => NAMES.map((groupId) => ({ project, groupId })));
    for (const { project, groupId } of scopes)
      await scene.set(`${project} ${groupId}`, PAGE_1, { project, groupId });
    for (const { project, groupId } of scopes) {
      assert.deepEqual(await scene.ids({ project, groupId }), [`${project} ${groupId}`]);
    }
    await scene.store.removeProject('a', START);
    assert.deepEqual(await scene.ids({ project: 'a', groupId: 'b:c' }), []);
    assert.deepEqual(await scene.ids({ project: 'a:b', groupId: 'a' }), ['a:b a']);
    assert.equal((await scene.swept(START + TTL)).length, scopes.length - NAMES.length);
  });

  rule('users and regions with any characters in their texts do not affect each other', async (scene) => {
    for (const name of NAMES) {
      await scene.set(name, PAGE_1, { region: at({ [name]: name }) });
      await scene.set(name, PAGE_2, { region: at({ region: name }) });
    }
    for (const name of NAMES) assert.deepEqual(await scene.locationsOf(name), [PAGE_1, PAGE_2]);
    for (const name of NAMES) assert.equal(await scene.clear(name, PAGE_1), true);
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), []);
    assert.equal((await scene.ids({ location: PAGE_2 })).length, NAMES.length);
  });

  rule('a project key can be a number or a text', async (scene) => {
    await scene.set('ann', PAGE_1, { project: 7 });
    assert.deepEqual(await scene.ids({ project: 7 }), ['ann']);
    assert.deepEqual(await scene.ids({ project: 77 }), []);
    const [expiry] = await scene.store.sweep(START + TTL);
    assert.deepEqual(expiry, { project: 7, groupId: SCOPE.groupId, userId: 'ann', location: PAGE_1 });
  });
}
