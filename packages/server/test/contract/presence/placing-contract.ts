import assert from 'node:assert/strict';
import { at, PAGE_1, PAGE_2, PAGE_3, type Rule, SITE, START, TTL } from './presence-scene.ts';

const ARRIVED = { arrived: true, created: true, departed: null };
const NOTHING_CHANGED = { arrived: false, created: false, departed: null };
/** The region is new to the user, the location is not. */
const HELD_ANEW = { arrived: false, created: true, departed: null };
const APP = at({ app: 'a' });

/** What an update does to where the user is, and what it says that it changed. */
export function placingContract(rule: Rule): void {
  rule(
    'an engine that answers is pinged, and closing it twice is closing it once',
    async ({ store, other }) => {
      await store.ping();
      await other.ping();
      await store.close();
      await store.close();
    },
  );

  rule('who was not at the location has arrived', async (scene) => {
    assert.deepEqual(await scene.set('ann', PAGE_1), ARRIVED);
    assert.deepEqual(await scene.set('bob', PAGE_1), ARRIVED);
    assert.deepEqual(await scene.find(), [
      { userId: 'ann', locations: [PAGE_1] },
      { userId: 'bob', locations: [PAGE_1] },
    ]);
  });

  rule('a refresh of the same place changes nothing', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_2, { region: SITE });
    assert.deepEqual(await scene.set('ann', PAGE_1, { now: START + 1 }), NOTHING_CHANGED);
    assert.deepEqual(await scene.set('ann', PAGE_2, { region: SITE, now: START + 1 }), NOTHING_CHANGED);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1, PAGE_2]);
  });

  rule('a region has one location: the new one takes the place of the old', async (scene) => {
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

  rule('regions are apart: a user is at one location in each', async (scene) => {
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await scene.set('ann', PAGE_2), ARRIVED);
    assert.deepEqual(await scene.set('ann', PAGE_3, { region: SITE }), ARRIVED);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1, PAGE_2, PAGE_3]);
  });

  rule('the same region of two users is two regions', async (scene) => {
    await scene.set('ann', PAGE_1, { region: SITE });
    assert.deepEqual(await scene.set('bob', PAGE_2, { region: SITE }), ARRIVED);
    assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
  });

  rule('a region that is the location itself is one with `exclusiveWithin` of that value', async (scene) => {
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
    'who comes to a location in another region too has not arrived, and it is read once',
    async (scene) => {
      await scene.set('ann', PAGE_1);
      assert.deepEqual(await scene.set('ann', PAGE_1, { region: SITE }), HELD_ANEW);
      assert.deepEqual(await scene.set('ann', PAGE_1, { region: APP }), HELD_ANEW);
      assert.deepEqual(await scene.locationsOf('ann'), [PAGE_1]);
      assert.deepEqual(await scene.find({ location: PAGE_1 }), [{ userId: 'ann', locations: [PAGE_1] }]);
      assert.deepEqual(await scene.find({ location: PAGE_1, partial: true }), [
        { userId: 'ann', locations: [PAGE_1] },
      ]);
    },
  );

  rule('a location held in several regions is left when the last of them leaves it', async (scene) => {
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

  rule('another region that held the location until its deadline no longer holds it', async (scene) => {
    await scene.set('ann', PAGE_1, { region: APP, until: START + 1_000 });
    await scene.set('ann', PAGE_1, { region: SITE });
    const left = await scene.set('ann', PAGE_2, { region: SITE, now: START + 1_000 });
    assert.deepEqual(left, { arrived: true, created: false, departed: PAGE_1 });
    // The departure has been told, so no sweep tells it again.
    assert.deepEqual(await scene.swept(START + TTL - 1), []);
  });

  rule(
    'who comes back to a region after its deadline made it anew, wherever else they are',
    async (scene) => {
      await scene.set('ann', PAGE_1, { until: START + 1_000 });
      await scene.set('ann', PAGE_1, { region: SITE });
      await scene.set('ann', PAGE_2, { region: APP, until: START + 1_000 });
      const later = { now: START + 1_000 };
      assert.deepEqual(await scene.set('ann', PAGE_1, later), HELD_ANEW);
      assert.deepEqual(await scene.set('ann', PAGE_3, { region: APP, ...later }), {
        arrived: true,
        created: true,
        departed: PAGE_2,
      });
      assert.deepEqual(await scene.set('ann', PAGE_1, later), NOTHING_CHANGED);
    },
  );

  rule('who comes back after the deadline has arrived, swept or not', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', PAGE_1, { region: SITE });
    assert.deepEqual(await scene.set('ann', PAGE_1, { now: START + TTL }), ARRIVED);
    assert.deepEqual(await scene.swept(START + TTL), [`bob ${PAGE_1}`]);
    assert.deepEqual(await scene.set('bob', PAGE_1, { region: SITE, now: START + TTL }), ARRIVED);
    assert.deepEqual(await scene.ids({ now: START + TTL }), ['ann', 'bob']);
  });

  rule(
    'a place that ended unswept and is replaced has departed by that, and no sweep tells it',
    async (scene) => {
      await scene.set('ann', PAGE_1, { region: SITE });
      const moved = await scene.set('ann', PAGE_2, { region: SITE, now: START + TTL });
      assert.deepEqual(moved, { arrived: true, created: true, departed: PAGE_1 });
      assert.deepEqual(await scene.swept(START + TTL), []);
      assert.deepEqual(await scene.locationsOf('ann', START + TTL), [PAGE_2]);
    },
  );
}
