import assert from 'node:assert/strict';
import { compareCodePoints, limits } from '@rollcall/protocol';
import { at, PAGE_1, PAGE_2, PAGE_3, type PresenceScene, type Rule, SITE, START } from './presence-scene.ts';

/** More users than any engine keeps in one piece. */
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

async function everybodyTo(scene: PresenceScene, ids: readonly string[], place = PAGE_1): Promise<void> {
  await Promise.all(ids.map((id) => scene.set(id, place)));
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

/** Who is read, in which order, and in pages. */
export function readingContract(rule: Rule): void {
  rule('a group where nobody has been is empty, and so is a user who has not', async (scene) => {
    assert.deepEqual(await scene.find(), []);
    assert.deepEqual(await scene.find({ location: PAGE_1, partial: true }), []);
    assert.deepEqual(await scene.locationsOf('ann'), []);
    await scene.set('ann', PAGE_1);
    assert.deepEqual(await scene.locationsOf('bob'), []);
  });

  rule('users are in ascending order of ID by code point', async (scene) => {
    await everybodyTo(scene, ORDERED.toReversed());
    assert.deepEqual(await scene.ids(), ORDERED);
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), ORDERED);
    assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true }), ORDERED);
    for (const [index, after] of ORDERED.entries()) {
      assert.deepEqual(await scene.ids({ after }), ORDERED.slice(index + 1));
    }
  });

  rule("a user's locations are in ascending order of text by code point", async (scene) => {
    const places = ORDERED.map((page) => at({ page })).sort(compareCodePoints);
    for (const place of places.toReversed()) await scene.set('ann', place);
    assert.deepEqual(await scene.locationsOf('ann'), places);
    assert.deepEqual(await scene.find(), [{ userId: 'ann', locations: places }]);
  });

  rule('a page has at most its limit, and starts after an ID that need not be there', async (scene) => {
    await everybodyTo(scene, ['ann', 'bob', 'cid', 'dan']);
    assert.deepEqual(await scene.ids({ limit: 2 }), ['ann', 'bob']);
    assert.deepEqual(await scene.ids({ limit: 2, after: 'bob' }), ['cid', 'dan']);
    assert.deepEqual(await scene.ids({ limit: 2, after: 'bo' }), ['bob', 'cid']);
    assert.deepEqual(await scene.ids({ limit: 2, after: 'bobby' }), ['cid', 'dan']);
    assert.deepEqual(await scene.ids({ after: 'dan' }), []);
    assert.deepEqual(await scene.ids({ limit: 10, after: '' }), ['ann', 'bob', 'cid', 'dan']);
  });

  rule('pages of a crowd give everybody once', async (scene) => {
    await everybodyTo(scene, CROWD);
    await everybodyTo(scene, CROWD.slice(0, 40), at({ page: '1', paragraph: '7' }));
    for (const limit of [10_000, 1_500, 700, 64]) assert.deepEqual((await pages(scene, limit)).flat(), CROWD);
    assert.deepEqual((await pages(scene, 400, { location: PAGE_1 })).flat(), CROWD);
    assert.deepEqual((await pages(scene, 400, { location: PAGE_1, partial: true })).flat(), CROWD);
    for (const index of [0, 63, 64, 750, 1_498]) {
      assert.deepEqual(await scene.ids({ limit: 1, after: CROWD[index] as string }), [CROWD[index + 1]]);
    }
  });

  rule('who comes or goes between pages makes no other appear twice or vanish', async (scene) => {
    await everybodyTo(scene, CROWD);
    const first = await scene.ids({ limit: 500 });
    await scene.store.removeUsers({ project: 'project', groupId: 'group' }, CROWD.slice(300, 510), START);
    await everybodyTo(scene, ['u0100a', 'u0505a']);
    const second = await scene.ids({ after: first.at(-1) as string });
    assert.deepEqual([...first, ...second], [...CROWD.slice(0, 500), 'u0505a', ...CROWD.slice(510)]);
  });

  rule('who leaves from the front, the middle or the back leaves the others in order', async (scene) => {
    await everybodyTo(scene, CROWD);
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
    await everybodyTo(scene, CROWD);
    assert.deepEqual((await pages(scene, 400)).flat(), CROWD);
  });

  rule('when the first leaves, a page that starts before them starts with the next', async (scene) => {
    await everybodyTo(scene, CROWD);
    for (const [index, id] of CROWD.slice(0, 200).entries()) {
      await scene.clear(id, PAGE_1);
      assert.deepEqual(await scene.ids({ limit: 1, after: 'a' }), [CROWD[index + 1]]);
    }
  });

  rule('whoever the filter or their deadline leaves out takes up no room in a page', async (scene) => {
    await everybodyTo(scene, CROWD);
    for (const id of CROWD.slice(0, 900)) await scene.set(id, PAGE_1, { until: START + 1 });
    await scene.set('u1200', PAGE_2);
    assert.deepEqual(await scene.ids({ limit: 3, now: START + 1 }), ['u0900', 'u0901', 'u0902']);
    assert.deepEqual(await scene.ids({ location: PAGE_2, limit: 3 }), ['u1200']);
  });

  rule('of each user found, the locations are those that pass', async (scene) => {
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

  rule('a user at very many places is found at each', async (scene) => {
    const places = CROWD.slice(0, limits.EPHEMERAL_LOCATIONS_MAX).map((paragraph) =>
      at({ page: '1', paragraph }),
    );
    for (const place of places) await scene.set('ann', place);
    await everybodyTo(scene, CROWD.slice(0, 30));
    assert.deepEqual(await scene.locationsOf('ann'), places);
    assert.deepEqual(await scene.ids({ location: places[50] as string }), ['ann']);
    assert.deepEqual(await scene.find({ location: PAGE_1, partial: true, limit: 1 }), [
      { userId: 'ann', locations: places },
    ]);
    assert.deepEqual((await pages(scene, 7, { location: PAGE_1, partial: true })).flat(), [
      'ann',
      ...CROWD.slice(0, 30),
    ]);
  });
}
