import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { mergeEntries } from '../../src/realtime/events/merge-entries.ts';
import {
  arrived,
  dataOf,
  departed,
  durable,
  type Entry,
  type ReaderEvent,
} from '../../src/realtime/events/reader-event.ts';
import { entryEvents, eventBlock, positionId } from '../../src/wire/event-text.ts';
import { Random } from '../sim/random.ts';
import { EventParser } from '../support/event-parser.ts';
import { ReaderModel } from './reader-model.ts';

const idAt = (offset: number) => positionId({ epoch: 'epoch', offset });

const SEEDS =
  process.env.ROLLCALL_TEST_SEED === undefined
    ? Array.from({ length: 300 }, (_, index) => index + 1)
    : [Number(process.env.ROLLCALL_TEST_SEED)];
const LOCATIONS = ['A', 'B', 'C', 'D'].map((page) => JSON.stringify({ page }));
const DATA = ['{"x":1}', '{"x":2}', null];
const USERS = ['ann', 'bob', 'cid'];
const AT = Date.UTC(2026, 0, 1);

const at = (page: string) => JSON.stringify({ page });
const entries = (...events: ReaderEvent[]): Entry[] =>
  events.map((event, index) => ({ offset: index + 1, event }));
const merged = (...events: ReaderEvent[]) => mergeEntries(entries(...events)).map(({ event }) => event);

/** The state of a reader after these entries. */
function read(model: ReaderModel, list: readonly Entry[], to: number): ReaderModel {
  const parser = new EventParser();
  parser.take(entryEvents(list, idAt, to).map(eventBlock).join(''));
  for (const event of parser.events) model.take(event);
  return model;
}

/** Makes consistent lists of entries: users leave only locations at which they are and have data only there, and arrive only at others. */
class Changes {
  readonly #random: Random;
  readonly #there = new Map<string, Set<string>>(USERS.map((id) => [id, new Set()]));
  #offset = 1;

  constructor(random: Random) {
    this.#random = random;
  }

  list(count: number): Entry[] {
    return Array.from({ length: count }, () => {
      // One event of the group may concern several users.
      this.#offset += this.#random.below(2);
      return { offset: this.#offset, event: this.#next() };
    });
  }

  get offset(): number {
    return this.#offset;
  }

  #next(): ReaderEvent {
    const userId = this.#random.pick(USERS);
    const there = this.#there.get(userId) as Set<string>;
    const location = this.#random.pick(LOCATIONS);
    const left = [...there].filter((other) => other !== location);
    const kind = this.#random.below(10);
    if (kind === 0) return durable(userId, location, AT + this.#offset);
    if (kind === 1) return departed(userId, location, 'removed', true);
    if (kind < 5 && there.delete(location))
      return departed(userId, location, this.#random.pick(['absent', 'expired']));
    if (kind > 7 && there.size > 0)
      return dataOf(userId, this.#random.pick([...there]), this.#random.pick(DATA));
    const from = left.length > 0 && this.#random.chance(0.6) ? this.#random.pick(left) : null;
    const isNew = !there.has(location);
    if (from === null && !isNew) return durable(userId, location, AT + this.#offset);
    if (from !== null) there.delete(from);
    there.add(location);
    return arrived(userId, location, from, isNew);
  }
}

describe('merged events', () => {
  for (const seed of SEEDS) {
    test('the name of a user whose arrival is merged away is shown with the durable location', () => {
      const user = { name: 'Ann', profilePictureUrl: null };
      const stay = durable('ann', at('B'), AT);
      const events = [arrived('ann', at('A'), null, true, user), stay, departed('ann', at('A'), 'absent')];
      assert.deepEqual(merged(...events), [stay, { type: 'user', userId: 'ann', user }]);
    });

    test(`merged events lead a reader to the same state as all events, seed ${seed}`, () => {
      const random = new Random(seed);
      const changes = new Changes(random);
      const before = changes.list(random.below(12));
      const list = changes.list(random.below(16));
      const { offset } = changes;
      const start = () => read(new ReaderModel(true), before, offset);
      const whole = read(start(), list, offset).entries();
      const short = mergeEntries(list, true);
      assert.deepEqual(read(start(), short, offset).entries(), whole);
      assert.ok(short.length <= list.length);
      assert.deepEqual(
        short.map((entry) => entry.offset),
        short.map((entry) => entry.offset).toSorted((a, b) => a - b),
      );
    });
  }

  for (const seed of SEEDS) {
    test(`merged events that break off lead to the same state after a resume one by one, seed ${seed}`, () => {
      const random = new Random(seed);
      const changes = new Changes(random);
      const before = changes.list(random.below(12));
      const list = changes.list(1 + random.below(16));
      const { offset } = changes;
      const whole = read(read(new ReaderModel(true), before, offset), list, offset).entries();
      const parser = new EventParser();
      parser.take(entryEvents(mergeEntries(list, true), idAt, offset).map(eventBlock).join(''));
      const reader = read(new ReaderModel(true), before, offset);
      let known = Math.min(...list.map((entry) => entry.offset)) - 1;
      for (const event of parser.events.slice(0, random.below(parser.events.length + 1))) {
        reader.take(event);
        known = Number(event.id.split('-')[1]);
      }
      read(
        reader,
        list.filter((entry) => entry.offset > known),
        offset,
      );
      assert.deepEqual(reader.entries(), whole);
    });
  }
});

describe('several events of one user', () => {
  test('a chain of moves is merged to one arrived event with from', () => {
    const moves = merged(
      arrived('ann', at('B'), at('A')),
      arrived('ann', at('C'), at('B')),
      arrived('ann', at('D'), at('C')),
    );
    assert.deepEqual(moves, [arrived('ann', at('D'), at('A'))]);
  });

  test('an arrival that is followed by a departure is no event, and neither is a departure followed by an arrival', () => {
    assert.deepEqual(merged(arrived('ann', at('A')), departed('ann', at('A'), 'absent')), []);
    assert.deepEqual(merged(departed('ann', at('A'), 'expired'), arrived('ann', at('A'))), []);
    assert.deepEqual(merged(arrived('ann', at('B'), at('A')), arrived('ann', at('A'), at('B'))), []);
  });

  test('a user who moved and then departed has one departed event with the last reason', () => {
    const events = merged(arrived('ann', at('B'), at('A')), departed('ann', at('B'), 'expired'));
    assert.deepEqual(events, [departed('ann', at('A'), 'expired')]);
  });

  test('the last data of a location are sent, and the data of other locations beside them', () => {
    const [first, second] = ['{"x":1}', '{"x":2}'];
    const moves = mergeEntries(
      entries(
        dataOf('ann', at('A'), first),
        dataOf('ann', at('B'), first),
        dataOf('ann', at('A'), second),
        dataOf('ann', at('B'), null),
      ),
      true,
    );
    assert.deepEqual(moves, [
      { offset: 1, event: dataOf('ann', at('A'), second) },
      { offset: 1, event: dataOf('ann', at('B'), null) },
    ]);
  });

  test('a user who moved has the data of the last location, and none of those before', () => {
    const moves = mergeEntries(
      entries(
        dataOf('ann', at('A'), '{"x":1}'),
        arrived('ann', at('B'), at('A')),
        dataOf('ann', at('B'), '{"x":2}'),
      ),
      true,
    );
    assert.deepEqual(
      moves.map(({ event }) => event),
      [arrived('ann', at('B'), at('A')), dataOf('ann', at('B'), '{"x":2}')],
    );
  });

  test('a user who left a location with data and is back without has one data event with null', () => {
    const moves = mergeEntries(entries(departed('ann', at('A'), 'expired'), arrived('ann', at('A'))), true);
    assert.deepEqual(
      moves.map(({ event }) => event),
      [dataOf('ann', at('A'), null)],
    );
  });

  test('a reader without expand=data is sent no merged data', () => {
    const list = entries(dataOf('ann', at('A'), '{"x":1}'), dataOf('ann', at('A'), '{"x":2}'));
    assert.deepEqual(mergeEntries(list), []);
  });

  test('the last of several durable locations of a user is sent', () => {
    const events = merged(durable('ann', at('A'), AT), durable('ann', at('B'), AT + 1));
    assert.deepEqual(events, [durable('ann', at('B'), AT + 1)]);
  });

  test('a single event of a user is sent unchanged, in its order', () => {
    const list = entries(arrived('ann', at('A')), arrived('bob', at('A')), arrived('ann', at('B'), at('A')));
    assert.deepEqual(mergeEntries(list), [
      { offset: 1, event: arrived('ann', at('B')) },
      { offset: 2, event: arrived('bob', at('A')) },
    ]);
    assert.equal(mergeEntries(list.slice(0, 2)).length, 2);
  });
});
