import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type DurableLocation, DurableLocations } from '../../src/realtime/views/durable-locations.ts';
import { Random } from '../sim/random.ts';

const USERS = Array.from({ length: 6 }, (_, index) => `u${index}`);
/** More than two words of bits. */
const FILTERS = 70;
const STEPS = 5_000;

/** The naive model: a map for each filter. */
class Model {
  readonly filters = new Map<number, Map<string, DurableLocation>>();

  userIds(): string[] {
    return [...new Set([...this.filters.values()].flatMap((shown) => [...shown.keys()]))].sort();
  }
}

function compare(locations: DurableLocations, model: Model): void {
  assert.equal(locations.size, model.userIds().length);
  for (const [filter, shown] of model.filters) {
    assert.deepEqual([...locations.shownBy(filter)].sort(), [...shown.keys()].sort());
    for (const userId of USERS) {
      const actual = locations.get(filter, userId);
      const expected = shown.get(userId) ?? null;
      assert.deepEqual(actual && [actual.location, actual.at], expected && [expected.location, expected.at]);
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
  const shown = model.filters.get(filter) as Map<string, DurableLocation>;
  const userId = random.pick(USERS);
  if (kind < 14) {
    locations.close(filter);
    model.filters.delete(filter);
  } else if (kind < 17) {
    locations.clear(filter);
    shown.clear();
  } else if (kind < 30) {
    locations.set(filter, userId, null);
    shown.delete(userId);
  } else {
    const location = { location: `{"page":"${random.below(3)}"}`, at: random.below(2) };
    locations.set(filter, userId, location);
    shown.set(userId, location);
  }
}

describe('durable locations that are stored once for all filters', () => {
  for (const seed of [1, 2, 3]) {
    test(`each filter shows the durable locations that a map of its own would have, seed ${seed}`, () => {
      const [locations, model, random] = [new DurableLocations(), new Model(), new Random(seed)];
      for (let count = 0; count < STEPS; count += 1) {
        step(locations, model, random);
        if (count % 50 === 0) compare(locations, model);
      }
      compare(locations, model);
    });
  }
});
