import assert from 'node:assert/strict';
import { at, PAGE_1, PAGE_2, PAGE_3, type Rule, SITE, START, TTL } from './presence-scene.ts';

const ARRIVED = { arrived: true, created: true, departed: null };
const NOTHING_CHANGED = { arrived: false, created: false, departed: null };
/** The region is new to the user, the location is not. */
const CREATED = { arrived: false, created: true, departed: null };
const APP = at({ app: 'a' });

/** The effect of an update on the locations of a user, and the changes in its outcome. */
export function updateContract(rule: Rule): void {
  rule('ping resolves while the engine answers, and close is idempotent', async ({ store, other }) => {
    await store.ping();
    await other.ping();
    await store.close();
    await store.close();
  });

  rule('an update of a user who was not at the location is an arrival', async (scene) => {
    assert.deepEqual(await scene.set('ann', PAGE_1), ARRIVED);
    assert.deepEqual(await scene.set('bob', PAGE_1), ARRIVED);
    assert.deepEqual(await scene.find(), [
      { userId: 'ann', locations: [PAGE_1] },
      { userId: 'bob', locations: [PAGE_1] },
    ]);
  });

  rule('a refresh of the same location changes nothing', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_2, { region: SITE });
    assert.deepEqual(await scene.set('ann', PAGE_1, { now: START + 1 }), NOTHING_CHANGED);
    assert.deepEqual(await scene.set('ann', PAGE_2, { region: SITE, now: START + 1 }), NOTHING_CHANGED);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1, PAGE_2]);
  });

  rule('a region has one location, which an update replaces', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    assert.deepEqual(await scene.set('ann', PAGE_2, { region: SITE }), {
      arrived: true,
      created: false,
      departed: PAGE_1,
    });
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_2]);
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), []);
    assert.deepEqual(await scene.ids({ location: PAGE_2 }), ['ann']);
    assert.deepEqual(await scene.set('ann', PAGE_1, { region: SITE }), {
      arrived: true,
      created: false,
      departed: PAGE_2,
    });
  });

  rule('a user has one location in each region', async (scene) => {
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await scene.set('ann', PAGE_2), ARRIVED);
    assert.deepEqual(await scene.set('ann', PAGE_3, { region: SITE }), ARRIVED);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1, PAGE_2, PAGE_3]);
  });

  rule('two users have a location each in the same region', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    assert.deepEqual(await scene.set('bob', PAGE_2, { region: SITE }), ARRIVED);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
  });

  rule('an update without exclusiveWithin has its location as its region', async (scene) => {
    const paragraph = at({ page: '1', paragraph: '1' });
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await scene.set('ann', paragraph, { region: PAGE_1 }), {
      arrived: true,
      created: false,
      departed: PAGE_1,
    });
    assert.deepEqual(await scene.set('ann', PAGE_1), { arrived: true, created: false, departed: paragraph });
  });

  rule(
    'an update of a location that another region has is no arrival, and a reading has the location once',
    async (scene) => {
      await scene.set('ann', PAGE_1);
      assert.deepEqual(await scene.set('ann', PAGE_1, { region: SITE }), CREATED);
      assert.deepEqual(await scene.set('ann', PAGE_1, { region: APP }), CREATED);
      assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
      assert.deepEqual(await scene.find({ location: PAGE_1 }), [{ userId: 'ann', locations: [PAGE_1] }]);
      assert.deepEqual(await scene.find({ location: PAGE_1, partial: true }), [
        { userId: 'ann', locations: [PAGE_1] },
      ]);
    },
  );

  rule('a location in several regions departs when the last of them leaves it', async (scene) => {
    await scene.set('ann', PAGE_1, { region: APP });
    await scene.set('ann', PAGE_1, { region: SITE });
    const first = await scene.set('ann', PAGE_2, { region: APP });
    assert.deepEqual(first, { arrived: true, created: false, departed: null });
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), ['ann']);
    assert.deepEqual(await scene.set('ann', PAGE_2, { region: SITE }), {
      arrived: false,
      created: false,
      departed: PAGE_1,
    });
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_2]);
  });

  rule('an expired region does not make a user present at a location', async (scene) => {
    await scene.set('ann', PAGE_1, { region: APP, until: START + 1_000 });
    await scene.set('ann', PAGE_1, { region: SITE });
    const left = await scene.set('ann', PAGE_2, { region: SITE, now: START + 1_000 });
    assert.deepEqual(left, { arrived: true, created: false, departed: PAGE_1 });
    // The departure was reported, so no sweep reports it again.
    assert.deepEqual(await scene.swept(START + TTL - 1), []);
  });

  rule('an update of an expired region creates it again, also for a user who is elsewhere', async (scene) => {
    await scene.set('ann', PAGE_1, { until: START + 1_000 });
    await scene.set('ann', PAGE_1, { region: SITE });
    await scene.set('ann', PAGE_2, { region: APP, until: START + 1_000 });
    const later = { now: START + 1_000 };
    assert.deepEqual(await scene.set('ann', PAGE_1, later), CREATED);
    assert.deepEqual(await scene.set('ann', PAGE_3, { region: APP, ...later }), {
      arrived: true,
      created: true,
      departed: PAGE_2,
    });
    assert.deepEqual(await scene.set('ann', PAGE_1, later), NOTHING_CHANGED);
  });

  rule('an update after the deadline is an arrival, swept or not', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1, { region: SITE });
    assert.deepEqual(await scene.set('ann', PAGE_1, { now: START + TTL }), ARRIVED);
    assert.deepEqual(await scene.swept(START + TTL), [`bob ${PAGE_1}`]);
    assert.deepEqual(await scene.set('bob', PAGE_1, { region: SITE, now: START + TTL }), ARRIVED);
    assert.deepEqual(await scene.ids({ now: START + TTL }), ['ann', 'bob']);
  });

  rule(
    'an update that replaces an unswept expired location reports its departure, and no sweep does',
    async (scene) => {
      await scene.set('ann', PAGE_1, { region: SITE });
      const moved = await scene.set('ann', PAGE_2, { region: SITE, now: START + TTL });
      assert.deepEqual(moved, { arrived: true, created: true, departed: PAGE_1 });
      assert.deepEqual(await scene.swept(START + TTL), []);
      assert.deepEqual(await scene.locationsOf('ann', START + TTL), [PAGE_2]);
    },
  );
}
