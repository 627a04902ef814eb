import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntryRows } from '../../src/realtime/events/entry-rows.ts';
import {
  arrived,
  dataOf,
  departed,
  durable,
  type Entry,
  type ReaderEvent,
  textLength,
} from '../../src/realtime/events/reader-event.ts';
import { Random } from '../sim/random.ts';

const SEED = 7;
const PROFILE = { name: 'Ada', profilePictureUrl: null };

/** An event of any type, with any of the values that its fields can have. */
function randomEvent(random: Random): ReaderEvent {
  const location = `"${'x'.repeat(random.below(9))}"`;
  const flag = random.chance(0.5);
  const events: readonly ReaderEvent[] = [
    arrived('a', location, flag ? null : '"y"', random.chance(0.5), flag ? null : PROFILE),
    departed('bob', location, flag ? 'moved' : 'expired', random.chance(0.5)),
    dataOf('c', location, flag ? null : '{"x":1}'),
    durable('d', location, random.below(1_000), flag),
    { type: 'user', userId: 'e', user: PROFILE },
  ];
  return events[random.below(events.length)] as ReaderEvent;
}

test('entries are what was added and not removed, in order, with their numbers, however they grow and empty', () => {
  const random = new Random(SEED);
  const rows = new EntryRows();
  const expected: Entry[] = [];
  let offset = 0;
  let first = 0;
  for (let step = 0; step < 20_000; step += 1) {
    const where = `seed ${SEED}, step ${step}`;
    // It fills for a while, and then empties for a while.
    if (random.chance(step % 2_000 < 1_000 ? 0.6 : 0.4)) {
      offset += random.below(2);
      const entry = { offset, event: randomEvent(random) };
      assert.equal(rows.push(entry), first + expected.length, where);
      expected.push(entry);
    } else if (expected.length > 0) {
      rows.shift();
      expected.shift();
      first += 1;
    }
    assert.equal(rows.length, expected.length);
    assert.equal(rows.from, first);
    if (step % 50 !== 0) continue;
    const stored = expected.map((_, index) => rows.entryOf(first + index));
    assert.deepEqual(stored, expected, where);
    for (const [index, entry] of expected.entries())
      assert.equal(rows.offsetOf(first + index), entry.offset, where);
    assert.equal(
      rows.textLength,
      expected.reduce((sum, { event }) => sum + textLength(event), 0),
    );
  }
});
