import assert from 'node:assert/strict';
import { canonicalLocation, type Location, locationMatches } from '@rollcall/protocol';
import { Random } from '../../sim/random.ts';
import { at, PAGE_1, PAGE_2, type PresenceScene, type Rule, SITE } from './presence-scene.ts';

/** Texts that look like the marks of a location's text, of a key of an engine, or of a pattern. */
const HOSTILE = [
  '',
  ':',
  ',',
  '":"',
  '","',
  '\\',
  '\\"',
  '"',
  '{',
  '}',
  '*',
  '\0',
  '__proto__',
  'constructor',
  '\u{1f600}',
  '\u2028',
];
const SEED = 20_260;

/** The filters of a reading by location. */
export function filterContract(rule: Rule): void {
  rule('a reading without a filter has every present user of the group', async (scene) => {
    await scene.set('ann', PAGE_1);
    await scene.set('bob', SITE);
    assert.deepEqual(await scene.ids(), ['ann', 'bob']);
  });

  rule('an exact filter takes one location, and none that only match it', async (scene) => {
    await spread(scene);
    assert.deepEqual(await scene.ids({ location: PAGE_1 }), ['ann']);
    assert.deepEqual(await scene.ids({ location: at({ page: '1', paragraph: '1' }) }), ['bob']);
    assert.deepEqual(await scene.ids({ location: at({ paragraph: '1' }) }), []);
  });

  rule('a partial filter takes every location that has all of its pairs', async (scene) => {
    await spread(scene);
    const partial = (location: Location) => scene.ids({ location: at(location), partial: true });
    assert.deepEqual(await partial({ page: '1' }), ['ann', 'bob', 'cid']);
    assert.deepEqual(await partial({ paragraph: '1' }), ['bob', 'dan']);
    assert.deepEqual(await partial({ page: '1', paragraph: '1' }), ['bob']);
    assert.deepEqual(await partial({ paragraph: '1', page: '2' }), ['dan']);
    assert.deepEqual(await partial({ page: '2', paragraph: '2' }), []);
    assert.deepEqual(await partial({ page: '1', site: 's' }), []);
    assert.deepEqual(await partial({ page: '3' }), []);
  });

  rule('a partial filter with two frequent pairs finds the few locations that have both', async (scene) => {
    const ids = Array.from({ length: 300 }, (_, index) => `u${index + 100}`);
    const locationAt = (index: number): Location => ({
      half: `${index % 2}`,
      third: `${index % 3}`,
      own: `${index}`,
    });
    await Promise.all(ids.map((id, index) => scene.set(id, at(locationAt(index)))));
    await scene.set('ann', at({ half: '1', third: '3' }));
    const both = await scene.ids({ location: at({ half: '1', third: '2' }), partial: true });
    assert.deepEqual(
      both,
      ids.filter((_, index) => index % 6 === 5),
    );
    assert.deepEqual(await scene.ids({ location: at({ half: '1', third: '3' }), partial: true }), ['ann']);
    assert.deepEqual(await scene.ids({ location: at({ half: '0', third: '3' }), partial: true }), []);
  });

  rule('a filter does not find users at a location that they left', async (scene) => {
    await scene.set('ann', at({ page: '1', paragraph: '1' }), { region: PAGE_1 });
    await scene.set('ann', at({ page: '1', paragraph: '2' }), { region: PAGE_1 });
    assert.deepEqual(await scene.ids({ location: at({ paragraph: '1' }), partial: true }), []);
    assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true }), ['ann']);
    await scene.clear('ann', at({ page: '1', paragraph: '2' }));
    assert.deepEqual(await scene.ids({ location: PAGE_1, partial: true }), []);
  });

  rule('a filter compares location texts literally', async (scene) => {
    const random = new Random(SEED);
    const locations = Array.from({ length: 120 }, () => hostileLocation(random));
    await Promise.all(locations.map((location, index) => scene.set(`u${index + 100}`, at(location))));
    for (const pattern of [...locations, ...locations.map((location) => part(location, random))]) {
      const matching = locations.flatMap((location, index) =>
        locationMatches(location, pattern) ? `u${index + 100}` : [],
      );
      const found = await scene.ids({ location: at(pattern), partial: true });
      assert.deepEqual(found, matching, `${canonicalLocation(pattern)}, seed ${SEED}`);
    }
  });
}

async function spread(scene: PresenceScene): Promise<void> {
  await scene.set('ann', PAGE_1);
  await scene.set('bob', at({ page: '1', paragraph: '1' }));
  await scene.set('cid', at({ paragraph: '2', page: '1' }));
  await scene.set('dan', at({ page: '2', paragraph: '1' }));
  await scene.set('eve', PAGE_2);
}

function hostileLocation(random: Random): Location {
  const pairs = Array.from({ length: 1 + random.below(3) }, () => [
    random.pick(HOSTILE),
    random.pick(HOSTILE),
  ]);
  return Object.fromEntries(pairs);
}

function part(location: Location, random: Random): Location {
  return Object.fromEntries([random.pick(Object.entries(location))]);
}
