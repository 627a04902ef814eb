import assert from 'node:assert/strict';
import { PAGE_1, PAGE_2, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

/** Deadlines are absolute and filtered on read. */
export function deadlineContract(rule: Rule): void {
  rule(
    'a presence is in every reading until its deadline, and in none from then on, swept or not',
    async (scene) => {
      await scene.set('ann', PAGE_1);
      for (const location of [undefined, PAGE_1]) {
        const filter = location === undefined ? {} : { location };
        assert.deepEqual(await scene.ids({ ...filter, now: START + TTL - 1 }), ['ann']);
        assert.deepEqual(await scene.ids({ ...filter, now: START + TTL }), []);
      }
      assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true, now: START + TTL }), []);
      assert.deepEqual(await scene.locationsOf('ann', START + TTL - 1), [PAGE_1]);
      assert.deepEqual(await scene.locationsOf('ann', START + TTL), []);
    },
  );

  rule('a refresh extends the deadline of a presence', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { now: START + 20_000 });
    assert.deepEqual(await scene.ids({ now: START + TTL }), ['ann']);
    assert.deepEqual(await scene.ids({ now: START + 20_000 + TTL }), []);
  });

  rule('a refresh with an earlier deadline shortens a presence', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_1, { until: START + 2_000 });
    assert.deepEqual(await scene.ids({ now: START + 2_000 }), []);
    assert.deepEqual(await scene.swept(START + 2_000), [`ann ${PAGE_1}`]);
  });

  rule('the last update sets the deadline of its region, also when it moves the user', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_2, { region: SITE, now: START + 1_000, until: START + 5_000 });
    assert.deepEqual(await scene.ids({ now: START + 4_999 }), ['ann']);
    assert.deepEqual(await scene.ids({ now: START + 5_000 }), []);
  });

  rule('each of several locations ends at its own deadline', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_2, { until: START + 1_000 });
    assert.deepEqual(await scene.locationsOf('ann', START + 1_000), [PAGE_1]);
    assert.deepEqual(await scene.find({ now: START + 1_000 }), [{ userId: 'ann', locations: [PAGE_1] }]);
  });

  rule('a location in several regions ends at the last of their deadlines', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + 1_000 });
    await scene.set('ann', PAGE_1, { region: SITE });
    assert.deepEqual(await scene.ids({ location: PAGE_1, now: START + TTL - 1 }), ['ann']);
    assert.deepEqual(await scene.ids({ location: PAGE_1, now: START + TTL }), []);
  });

  rule('a presence ends after its time to live also where the clock is set back meanwhile', async (scene) => {
    const ids = Array.from({ length: 300 }, (_, index) => `u${index + 100}`);
    await Promise.all(ids.map((id) => scene.set(id, PAGE_2)));
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1, { connection: 'b', lease: 'process' });
    await scene.set('cid', PAGE_1, { groupId: 'other' });
    await scene.set('ann', PAGE_1, { now: START + 1_000 });
    await scene.store.sweep(START + 1_000);
    const now = START - 3_600_000;
    // Before a sweep finds that the clock was set.
    await scene.set('dan', PAGE_1, { now, until: now + 2_000 });
    assert.deepEqual(await scene.store.sweep(now), []);
    assert.deepEqual(await scene.ids({ location: PAGE_1, now: now + 1_999 }), ['ann', 'bob', 'dan']);
    assert.deepEqual(await scene.ids({ location: PAGE_1, now: now + 2_000 }), ['ann', 'bob']);
    await scene.set('ann', PAGE_1, { now: now + 3_000 });
    assert.deepEqual(await scene.ids({ now: now + TTL }), ['ann']);
    assert.deepEqual(await scene.ids({ groupId: 'other', now: now + TTL - 1 }), ['cid']);
    assert.deepEqual(await scene.ids({ groupId: 'other', now: now + TTL }), []);
    const ended = (await scene.store.sweep(now + TTL)).map(({ userId }) => userId).sort();
    assert.deepEqual(ended, ['bob', 'cid', 'dan', ...ids]);
    const [last] = await scene.store.sweep(now + 3_000 + TTL);
    assert.deepEqual(last, { ...SCOPE, userId: 'ann', location: PAGE_1 });
    assert.deepEqual(await scene.store.count(), { presences: 0, groups: 0 });
  });

  rule('a driver reads no clock, and takes any time as now', async (scene) => {
    for (const now of [5_000, 4_100_000_000_000]) {
      const scope = { groupId: `at ${now}` };
      await scene.set('ann', PAGE_1, { ...scope, now });
      assert.deepEqual(await scene.ids({ ...scope, now: now + TTL - 1 }), ['ann']);
      assert.deepEqual(await scene.ids({ ...scope, now: now + TTL }), []);
    }
    assert.deepEqual(await scene.swept(5_000 + TTL), [`ann ${PAGE_1}`]);
  });
}
