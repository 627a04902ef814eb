import assert from 'node:assert/strict';
import { compareCodePoints, limits } from '@rollcall/protocol';
import { at, PAGE_1, PAGE_2, PAGE_3, type PresenceScene, type Rule, SITE, START } from './presence-scene.ts';

/** More users than any engine stores in one piece. */
const CROWD = Array.from({ length: 1_500 }, (_, index) => `u${String(index).padStart(4, '0')}`);
/** In ascending order of code points; UTF-16 units would put the last two before the two ahead of them. */
const ORDERED = [
  'Z',
  'a',
  'a b',
  'a/b',
  'aa',
  '\u{e9}',
  '\u{d55c}',
  '\u{f900}',
  '\u{ff01}',
  '\u{10400}',
  '\u{1f600}',
];

async function setUsers(scene: PresenceScene, ids: readonly string[], location = PAGE_1): Promise<void> {
  await Promise.all(ids.map((id) => scene.set(id, location)));
}

/** All pages of a reading, one after the other. */
async function pages(scene: PresenceScene, limit: number, reading: Parameters<PresenceScene['ids']>[0] = {}) {
  const found: string[][] = [];
  for (let after: string | null = null; ; ) {
    const page: string[] = await scene.ids({ ...reading, limit, after });
    if (page.length > 0) found.push(page);
    if (page.length < limit) return found;
    after = page.at(-1) as string;
  }
}

/** The users of a reading, their order, and pages. */
export function readingContract(rule: Rule, crowdRule: Rule): void {
  rule('a reading of a group without presence, and of a user without presence, is empty', async (scene) => {
    assert.deepEqual(await scene.find(), []);
    assert.deepEqual(await scene.find({ location: PAGE_1, partial: true }), []);
    assert.deepEqual(await scene.locationsOf('ann'), []);
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await scene.locationsOf('bob'), []);
  });

  rule('a reading has users in ascending order of ID by code point', async (scene) => {
    await setUsers(scene, ORDERED.toReversed());
    assert.deepEqual(await scene.ids(), ORDERED);
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), ORDERED);
    assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true }), ORDERED);
    for (const [index, after] of ORDERED.entries()) {
      assert.deepEqual(await scene.ids({ after }), ORDERED.slice(index + 1));
    }
  });

  rule('a reading has the locations of a user in ascending order of text by code point', async (scene) => {
    const locations = ORDERED.map((page) => at({ page })).sort(compareCodePoints);
    for (const location of locations.toReversed()) await scene.set('ann', location);
    assert.deepEqual(await scene.locationsOf('ann'), locations);
    assert.deepEqual(await scene.find(), [{ userId: 'ann', locations }]);
  });

  rule('a page has at most limit users, and starts after an ID that need not exist', async (scene) => {
    await setUsers(scene, ['ann', 'bob', 'cid', 'dan']);
    assert.deepEqual(await scene.ids({ limit: 2 }), ['ann', 'bob']);
    assert.deepEqual(await scene.ids({ limit: 2, after: 'bob' }), ['cid', 'dan']);
    assert.deepEqual(await scene.ids({ limit: 2, after: 'bo' }), ['bob', 'cid']);
    assert.deepEqual(await scene.ids({ limit: 2, after: 'bobby' }), ['cid', 'dan']);
    assert.deepEqual(await scene.ids({ after: 'dan' }), []);
    assert.deepEqual(await scene.ids({ limit: 10, after: '' }), ['ann', 'bob', 'cid', 'dan']);
  });

  crowdRule('the pages of a large group have every present user once', async (scene) => {
    await setUsers(scene, CROWD);
    await setUsers(scene, CROWD.slice(0, 40), at({ page: '1', paragraph: '7' }));
    for (const limit of [10_000, 1_500, 700, 64]) assert.deepEqual((await pages(scene, limit)).flat(), CROWD);
    assert.deepEqual((await pages(scene, 400, { location: PAGE_1 })).flat(), CROWD);
    assert.deepEqual((await pages(scene, 400, { location: PAGE_1, partial: true })).flat(), CROWD);
    for (const index of [0, 63, 64, 750, 1_498]) {
      assert.deepEqual(await scene.ids({ limit: 1, after: CROWD[index] as string }), [CROWD[index + 1]]);
    }
  });

  rule(
    'a user who arrives or departs between pages makes no other user appear twice or vanish',
    async (scene) => {
      await setUsers(scene, CROWD);
      const first = await scene.ids({ limit: 500 });
      await scene.store.removeUsers({ project: 'project', groupId: 'group' }, CROWD.slice(300, 510), START);
      await setUsers(scene, ['u0100a', 'u0505a']);
      const second = await scene.ids({ after: first.at(-1) as string });
      assert.deepEqual([...first, ...second], [...CROWD.slice(0, 500), 'u0505a', ...CROWD.slice(510)]);
    },
  );

  crowdRule(
    'the remaining users are in order after departures at the front, the middle and the end',
    async (scene) => {
      await setUsers(scene, CROWD);
      let left = CROWD;
      for (const [from, to] of [
        [0, 300],
        [400, 700],
        [700, 900],
        [0, 550],
      ] as const) {
        for (const id of left.slice(from, to)) await scene.clear(id, PAGE_1);
        left = left.toSpliced(from, to - from);
        for (const location of [undefined, PAGE_1]) {
          assert.deepEqual(await scene.ids(location === undefined ? {} : { location }), left);
        }
      }
      await setUsers(scene, CROWD);
      assert.deepEqual((await pages(scene, 400)).flat(), CROWD);
    },
  );

  rule('a page starts with the next user when the first one has departed', async (scene) => {
    await setUsers(scene, CROWD);
    for (const [index, id] of CROWD.slice(0, 200).entries()) {
      await scene.clear(id, PAGE_1);
      assert.deepEqual(await scene.ids({ limit: 1, after: 'a' }), [CROWD[index + 1]]);
    }
  });

  crowdRule(
    'users whom the filter or their deadline excludes do not count towards the limit of a page',
    async (scene) => {
      await setUsers(scene, CROWD);
      for (const id of CROWD.slice(0, 900)) await scene.set(id, PAGE_1, { until: START + 1 });
      await scene.set('u1200', PAGE_2);
      assert.deepEqual(await scene.ids({ limit: 3, now: START + 1 }), ['u0900', 'u0901', 'u0902']);
      assert.deepEqual(await scene.ids({ location: PAGE_2, limit: 3 }), ['u1200']);
    },
  );

  rule('a reading has of each user the locations that pass the filter', async (scene) => {
    const paragraph = at({ page: '1', paragraph: '1' });
    await scene.set('ann', paragraph);
    await scene.set('ann', PAGE_1);
    await scene.set('ann', PAGE_3, { region: SITE });
    assert.deepEqual(await scene.find({ location: PAGE_1 }), [{ userId: 'ann', locations: [PAGE_1] }]);
    assert.deepEqual(await scene.find({ location: PAGE_1, partial: true }), [
      { userId: 'ann', locations: [paragraph, PAGE_1] },
    ]);
    assert.deepEqual(await scene.find(), [{ userId: 'ann', locations: [paragraph, PAGE_1, PAGE_3] }]);
  });

  rule('a user at very many locations is found at each of them', async (scene) => {
    const locations = CROWD.slice(0, limits.EPHEMERAL_LOCATIONS_MAX).map((paragraph) =>
      at({ page: '1', paragraph }),
    );
    for (const location of locations) await scene.set('ann', location);
    await setUsers(scene, CROWD.slice(0, 30));
    assert.deepEqual(await scene.locationsOf('ann'), locations);
    assert.deepEqual(await scene.ids({ location: locations[50] as string }), ['ann']);
    assert.deepEqual(await scene.find({ location: PAGE_1, partial: true, limit: 1 }), [
      { userId: 'ann', locations },
    ]);
    assert.deepEqual((await pages(scene, 7, { location: PAGE_1, partial: true })).flat(), [
      'ann',
      ...CROWD.slice(0, 30),
    ]);
  });
}
