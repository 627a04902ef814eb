import assert from 'node:assert/strict';
import type { PresenceEvent } from '../../../src/presence/presence-store.ts';
import { INCARNATION, PAGE_1, PAGE_2, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

/** The incarnation of a later membership of the same user in the same group. */
const LATER = INCARNATION + 1;

/** A presence belongs to the membership for which it was set. */
export function membershipContract(rule: Rule): void {
  rule('a reading has the incarnation of the membership for which a user is present', async (scene) => {
    await scene.set('ann', PAGE_1, { incarnation: 0 });
    await scene.set('bob', PAGE_1, { incarnation: 2 ** 31 - 1 });
    const { users } = await scene.other.find({ ...SCOPE, filter: null, after: null, limit: 10, now: START });
    assert.deepEqual(users, [
      { userId: 'ann', incarnation: 0, locations: [PAGE_1] },
      { userId: 'bob', incarnation: 2 ** 31 - 1, locations: [PAGE_1] },
    ]);
  });

  rule('the locations of one user are read for one membership', async (scene) => {
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
    assert.deepEqual(await scene.locationsOf('ann', START, SCOPE, LATER), []);
  });

  rule(
    'an update for another membership ends all presences of the earlier one, each with a departed event',
    async (scene) => {
      await scene.set('ann', PAGE_1);
      await scene.set('ann', PAGE_2, { region: SITE });
      await scene.set('bob', PAGE_1);
      const recorder = await scene.watch();
      const change = await scene.set('ann', PAGE_1, { incarnation: LATER });
      assert.deepEqual(change, { arrived: true, created: true, departed: null });
      const departed = (location: string): PresenceEvent => ({
        type: 'departed',
        userId: 'ann',
        location,
        reason: 'removed',
      });
      const events = await recorder.first(3);
      assert.deepEqual(
        new Set(events.slice(0, 2).map((event) => JSON.stringify(event, Object.keys(departed('')).sort()))),
        new Set(
          [PAGE_1, PAGE_2].map((page) => JSON.stringify(departed(page), Object.keys(departed('')).sort())),
        ),
      );
      assert.deepEqual(events[2], {
        type: 'arrived',
        userId: 'ann',
        incarnation: LATER,
        location: PAGE_1,
        from: null,
      });
      assert.deepEqual(await scene.locationsOf('ann', START, SCOPE, LATER), [PAGE_1]);
      assert.deepEqual(await scene.locationsOf('ann'), []);
      assert.deepEqual(await scene.ids(), ['ann', 'bob']);
      assert.deepEqual((await scene.swept(START + TTL)).sort(), [`ann ${PAGE_1}`, `bob ${PAGE_1}`]);
    },
  );

  rule('an update of a region for another membership is an arrival, not a move', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    const change = await scene.set('ann', PAGE_2, { region: SITE, incarnation: LATER });
    assert.deepEqual(change, { arrived: true, created: true, departed: null });
    assert.deepEqual(await scene.find(), [{ userId: 'ann', locations: [PAGE_2] }]);
  });

  rule('an update for another membership leaves presence in other groups unchanged', async (scene) => {
    await scene.set('ann', PAGE_1, { groupId: 'other' });
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { incarnation: LATER });
    assert.deepEqual(await scene.locationsOf('ann', START, { ...SCOPE, groupId: 'other' }), [PAGE_1]);
  });
}
