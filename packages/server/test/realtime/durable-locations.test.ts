import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DurableLocations, type DurablePlace } from '../../src/realtime/durable-locations.ts';
import { Random } from '../sim/random.ts';

const USERS = Array.from({ length: 6 }, (_, index) => `u${index}`);
/** More than two words of bits. */
const FILTERS = 70;
const STEPS = 5_000;

/** A map for each filter. */
class Model {
  readonly filters = new Map<number, Map<string, DurablePlace>>();

  userIds(): string[] {
    return [...new Set([...this.filters.values()].flatMap((places) => [...places.keys()]))].sort();
  }
}

function compare(locations: DurableLocations, model: Model): void {
  assert.deepEqual([...locations.userIds()].sort(), model.userIds());
  for (const [filter, places] of model.filters) {
    assert.deepEqual([...locations.shownBy(filter)].sort(), [...places.keys()].sort());
    for (const userId of USERS) {
      const shown = locations.get(filter, userId);
      const expected = places.get(userId) ?? null;
      assert.deepEqual(shown && [shown.location, shown.at], expected && [expected.location, expected.at]);
    }
  }
  for (const userId of USERS) assert.equal(locations.has(userId), model.userIds().includes(userId));
}

function step(locations: DurableLocations, model: Model, random: Random): void {
  const open = [...model.filters.keys()];
  const kind = random.below(100);
  if (open.length === 0 || (kind < 10 && open.length < FILTERS)) {
    const filter = locations.open();
    assert.equal(model.filters.has(filter), false, 'the number of an open filter is not given again');
    model.filters.set(filter, new Map());
    return;
  }
  const filter = random.pick(open);
  const places = model.filters.get(filter) as Map<string, DurablePlace>;
  const userId = random.pick(USERS);
  if (kind < 14) {
    locations.close(filter);
    model.filters.delete(filter);
  } else if (kind < 17) {
    locations.clear(filter);
    places.clear();
  } else if (kind < 30) {
    locations.set(filter, userId, null);
    places.delete(userId);
  } else {
    const place = { location: `{"page":"${random.below(3)}"}`, at: random.below(2) };
    locations.set(filter, userId, place);
    places.set(userId, place);
  }
}

describe('durable locations that are stored once for all filters', () => {
  for (const seed of [1, 2, 3]) {
    test(`are for each filter what a map of its own would have, seed ${seed}`, () => {
      const [locations, model, random] = [new DurableLocations(), new Model(), new Random(seed)];
      for (let count = 0; count < STEPS; count += 1) {
        step(locations, model, random);
        if (count % 50 === 0) compare(locations, model);
      }
      compare(locations, model);
    });
  }

  test('change the version only when a user is added or removed', () => {
    const locations = new DurableLocations();
    const [first, second] = [locations.open(), locations.open()];
    const versions = [locations.version];
    const did = (change: () => void) => {
      change();
      versions.push(locations.version);
    };
    did(() => locations.set(first, 'a', { location: '{"page":"1"}', at: 1 }));
    did(() => locations.set(first, 'a', { location: '{"page":"2"}', at: 2 }));
    did(() => locations.set(second, 'a', { location: '{"page":"1"}', at: 1 }));
    did(() => locations.clear(first));
    did(() => locations.close(second));
    assert.deepEqual(
      versions.map((version) => versions.indexOf(version)),
      [0, 1, 1, 1, 1, 5],
    );
  });
});
