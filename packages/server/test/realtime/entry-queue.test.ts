import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntryQueue } from '../../src/realtime/events/entry-queue.ts';
import { arrived, type Entry, textLength } from '../../src/realtime/events/reader-event.ts';
import { Random } from '../sim/random.ts';

const SEED = 7;

test('a queue of entries has what was added and not removed, in order, however it grows and empties', () => {
  const random = new Random(SEED);
  const queue = new EntryQueue();
  const expected: Entry[] = [];
  let offset = 0;
  for (let step = 0; step < 20_000; step += 1) {
    // It fills for a while, and then empties for a while.
    if (random.chance(step % 2_000 < 1_000 ? 0.6 : 0.4)) {
      offset += random.below(2);
      const entry = { offset, event: arrived('a', `"${'x'.repeat(random.below(9))}"`) };
      queue.push(entry);
      expected.push(entry);
    } else assert.equal(queue.shift(), expected.shift(), `seed ${SEED}, step ${step}`);
    assert.equal(queue.length, expected.length);
    assert.equal(queue.first, expected[0]);
    if (step % 50 !== 0) continue;
    const from = offset - random.below(200);
    assert.deepEqual(
      queue.after(from),
      expected.filter((entry) => entry.offset > from),
      `seed ${SEED}, step ${step}`,
    );
    assert.equal(
      queue.textLength,
      expected.reduce((sum, entry) => sum + textLength(entry), 0),
    );
  }
});
