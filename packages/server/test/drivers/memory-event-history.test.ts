import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventHistory } from '../../src/presence/memory/event-history.ts';
import type { PresenceEvent } from '../../src/presence/presence-store.ts';
import { Random } from '../sim/random.ts';

const SEED = 11;
const LENGTH_MAX = 100;

const EVENTS: readonly PresenceEvent[] = [
  { type: 'arrived', userId: 'a', incarnation: 1, location: '{"p":"1"}', from: null },
  {
    type: 'arrived',
    userId: 'a',
    incarnation: 1,
    location: '{"p":"2"}',
    from: '{"p":"1"}',
    data: '{"x":1}',
  },
  { type: 'departed', userId: 'a', location: '{"p":"2"}', reason: 'absent' },
  { type: 'data', userId: 'b', location: '{"p":"2"}', data: null },
  { type: 'data', userId: 'b', location: '{"p":"2"}', data: '{"x":2}' },
  { type: 'durable', userId: 'c', location: '{"p":"2"}', at: 7, from: null, endedTo: 3 },
  { type: 'users', userIds: ['a', 'b'] },
  { type: 'usersRemoved', userIds: ['c'] },
  { type: 'group' },
  { type: 'groupRemoved' },
  { type: 'profiles', userIds: ['a'] },
  { type: 'releasing', userId: 'a', connection: 'one' },
];

test('an event of any type is read again from the history of its group as it was published', () => {
  const random = new Random(SEED);
  const history = new EventHistory();
  const expected: PresenceEvent[] = [];
  for (let step = 0; step < 2_000; step += 1) {
    const event = EVENTS[random.below(EVENTS.length)] as PresenceEvent;
    history.push(event);
    expected.push(event);
    while (expected.length > LENGTH_MAX) {
      history.shift();
      expected.shift();
    }
    const where = `seed ${SEED}, step ${step}`;
    assert.equal(history.length, expected.length, where);
    const index = random.below(expected.length);
    assert.deepEqual(history.at(index), expected[index], where);
  }
  assert.deepEqual(
    expected.map((_, index) => history.at(index)),
    expected,
  );
  for (const _ of expected) history.shift();
  assert.equal(history.textLength, 0);
});
