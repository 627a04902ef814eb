import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Location,
  NOBODY,
  type PresenceEntry,
  type PresenceEvent,
  type PresenceState,
  presenceAfter,
} from '../src/index.ts';

const A = { page: 'a' };
const B = { page: 'b', part: '1' };
const B_OTHER_WAY_ROUND = { part: '1', page: 'b' };
const timestamp = '2026-01-15T12:00:00.000Z';

const entry = (id: string, locations: PresenceEntry['ephemeral']['locations'] = []): PresenceEntry => ({
  id,
  ephemeral: { locations },
});

const after = (...events: PresenceEvent[]): PresenceState => events.reduce(presenceAfter, NOBODY);
const entries = (state: PresenceState) => [...state.values()];

const arrived = (id: string, location: Location) => ({ type: 'arrived', id, location }) as const;

describe('presenceAfter', () => {
  test('a snapshot replaces the whole state', () => {
    const users = [entry('bob', [B]), { ...entry('cy'), durable: { location: A, timestamp } }];
    assert.deepEqual(entries(after(arrived('ada', A), { type: 'snapshot', users })), users);
  });

  test('arrived adds a location once, whatever the order of its keys', () => {
    const state = after(arrived('ada', A), arrived('ada', B), arrived('ada', B_OTHER_WAY_ROUND));
    assert.deepEqual(entries(state), [entry('ada', [A, B])]);
  });

  test('arrived with from removes the previous location', () => {
    const state = after(arrived('ada', B), {
      type: 'arrived',
      id: 'ada',
      location: A,
      from: B_OTHER_WAY_ROUND,
    });
    assert.deepEqual(entries(state), [entry('ada', [A])]);
  });

  test('departed removes one location, and with the last one the user', () => {
    const gone = { type: 'departed', id: 'ada', location: B_OTHER_WAY_ROUND, reason: 'expired' } as const;
    const both = after(arrived('ada', A), arrived('ada', B));
    assert.deepEqual(entries(presenceAfter(both, gone)), [entry('ada', [A])]);
    assert.equal(after(arrived('ada', B), gone).size, 0);
    assert.equal(after(gone).size, 0, 'an unknown user is ignored');
  });

  test('a durable location stays when the user departs, and ends with reason removed', () => {
    const durable = { type: 'durable', id: 'ada', location: A, timestamp } as const;
    const departed = (reason: 'absent' | 'removed') =>
      ({ type: 'departed', id: 'ada', location: B, reason }) as const;
    const left = after(arrived('ada', B), durable, departed('absent'));
    assert.deepEqual(entries(left), [{ ...entry('ada'), durable: { location: A, timestamp } }]);
    const removed = [departed('removed'), { ...departed('removed'), location: A, durable: true }] as const;
    assert.equal(after(arrived('ada', B), durable, ...removed).size, 0);
  });

  test('departed with reason removed removes one location: the user may have arrived again meanwhile', () => {
    const removed = { type: 'departed', id: 'ada', location: A, reason: 'removed' } as const;
    const durable = { type: 'durable', id: 'ada', location: A, timestamp } as const;
    const both = after(arrived('ada', A), arrived('ada', B), durable);
    const state = [removed, { ...removed, durable: true } as const].reduce(presenceAfter, both);
    assert.deepEqual(entries(state), [entry('ada', [B])]);
  });

  test('departed with durable removes the durable location alone', () => {
    const state = after(
      arrived('ada', A),
      { type: 'durable', id: 'ada', location: A, timestamp },
      { type: 'departed', id: 'ada', location: A, reason: 'moved', durable: true },
    );
    assert.deepEqual(entries(state), [entry('ada', [A])]);
  });

  test('data stays with its location while others arrive and depart', () => {
    const data = (location: Location, n: number) =>
      ({ type: 'data', id: 'ada', location, data: { n } }) as const;
    const departed = (location: Location) =>
      ({ type: 'departed', id: 'ada', location, reason: 'expired' }) as const;
    const ephemeral = (state: PresenceState) => entries(state).map((found) => found.ephemeral);
    const both = [arrived('ada', A), arrived('ada', B), data(B_OTHER_WAY_ROUND, 2)];
    assert.deepEqual(ephemeral(after(...both)), [{ locations: [A, B], data: [null, { n: 2 }] }]);
    const again = after(...both, departed(A), arrived('ada', A), data(A, 1));
    assert.deepEqual(ephemeral(again), [{ locations: [B, A], data: [{ n: 2 }, { n: 1 }] }]);
    const left = after(...both, departed(B), data(B, 3));
    assert.deepEqual(ephemeral(left), [{ locations: [A], data: [null] }]);
    assert.equal(after(data(A, 1)).size, 0);
  });

  test('an event does not change the previous state, and unchanged entries are shared', () => {
    const before = after(arrived('ada', A), arrived('bob', A));
    const copy = structuredClone(entries(before));
    const next = presenceAfter(before, arrived('ada', B));
    assert.deepEqual(entries(before), copy);
    assert.notEqual(next, before);
    assert.equal(next.get('bob'), before.get('bob'));
  });
});
