import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { bare, LINE, PAGE_1, PAGE_2, PARTIAL_PAGE_1, StreamCase } from '../realtime/stream-case.ts';
import { expectDone } from '../support/expect.ts';
import type { Location, Presence } from '../support/presence-client.ts';
import type { StreamReader } from '../support/stream-reader.ts';

const streams = new StreamCase();
const { clock } = streams;
const PAGE: { exclusiveWithin: Location } = { exclusiveWithin: PAGE_1 };
const at = (line: string): Location => ({ page: '1', line });

/** The events that a stream with this query receives, each once: a `durable` event can come a second time. */
async function eventsAfter(
  p: Presence,
  query: Record<string, string>,
  count: number,
  happen: (reader: StreamReader) => Promise<unknown>,
): Promise<object[]> {
  const reader = await streams.watch(p, query);
  await happen(reader);
  // The last event is an arrival, after which no other follows.
  await p.set('end', { ...PAGE_1, end: '1' });
  await reader.until('the last event', () => reader.events.at(-1)?.data.id === 'end');
  const events = (await reader.changes(count + 1)).map(bare);
  const once = events.filter((event, index) => !isRepeated(event, index, events));
  assert.equal(once.length, count + 1, JSON.stringify(events));
  assert.ok(events.length - once.length <= 1, `more than one comes twice: ${JSON.stringify(events)}`);
  return once.slice(0, -1);
}

/** Whether the event is a `durable` one that has come before. */
function isRepeated(event: object, index: number, events: readonly object[]): boolean {
  const isDurable = 'type' in event && event.type === 'durable';
  return isDurable && events.slice(0, index).some((other) => isDeepStrictEqual(other, event));
}

describe('GET /v1/groups/<ID>/presence as text/event-stream', () => {
  test('a presence stream begins with a snapshot of all present users, as the reading has them', async () => {
    const p = await streams.presence('a', 'b', 'c');
    await p.set('b', PAGE_1);
    await p.set('a', PAGE_1);
    await p.set('a', PAGE_2, { durable: true });
    await p.set('c', LINE);
    for (const query of [
      {},
      PARTIAL_PAGE_1,
      { location: JSON.stringify(PAGE_1) },
      { exclude_durable: 'true' },
    ]) {
      const reader = await streams.open(p, query);
      const { data } = await reader.snapshot();
      assert.deepEqual(data.users, (await p.page(query)).users);
    }
  });

  test('a presence stream of a group without presence begins with an empty snapshot', async () => {
    const p = await streams.presence('a');
    const { data } = await (await streams.open(p)).snapshot();
    assert.deepEqual(data, { users: [] });
  });

  test('a presence stream has arrived and departed events for users who are set present and absent', async () => {
    const p = await streams.presence('a', 'b', 'end');
    const events = await eventsAfter(p, {}, 3, async () => {
      await p.set('a', PAGE_1);
      await p.set('a', PAGE_2);
      await p.setAbsent('a', PAGE_1);
    });
    assert.deepEqual(events, [
      { type: 'arrived', id: 'a', location: PAGE_1 },
      { type: 'arrived', id: 'a', location: PAGE_2 },
      { type: 'departed', id: 'a', location: PAGE_1, reason: 'absent' },
    ]);
  });

  test('a presence stream has one arrived event with from for a move inside an exclusive region', async () => {
    const p = await streams.presence('a', 'end');
    const events = await eventsAfter(p, {}, 2, async () => {
      await p.set('a', at('1'), PAGE);
      await p.set('a', at('2'), PAGE);
    });
    assert.deepEqual(events, [
      { type: 'arrived', id: 'a', location: at('1') },
      { type: 'arrived', id: 'a', location: at('2'), from: at('1') },
    ]);
  });

  test('a presence stream has no event for a refresh, an absence without effect, or another group', async () => {
    const p = await streams.presence('a', 'end');
    await p.set('a', PAGE_1);
    const events = await eventsAfter(p, {}, 0, async () => {
      await p.set('a', PAGE_1);
      await p.set('a', PAGE_1, { exclusiveWithin: PAGE_1 });
      await p.setAbsent('a', PAGE_2);
      expectDone(await p.put('a', { groupID: 'h', location: PAGE_2 }));
    });
    assert.deepEqual(events, []);
  });

  test('a presence stream has departed with reason expired within a second after the deadline', async () => {
    const p = await streams.presence('a', 'b');
    const reader = await streams.watch(p);
    await p.set('a', PAGE_1);
    await p.pass(clock, 29);
    clock.move(999);
    await p.set('b', PAGE_1);
    assert.equal((await reader.changes(2)).length, 2);
    await p.pass(clock, 1);
    const events = await reader.changes(3);
    assert.deepEqual(bare(events[2] as never), {
      type: 'departed',
      id: 'a',
      location: PAGE_1,
      reason: 'expired',
    });
  });

  test('a presence stream has a durable event for each update of a durable location', async () => {
    const p = await streams.presence('a', 'end');
    const now = () => new Date(clock.now()).toISOString();
    const times: string[] = [];
    const events = await eventsAfter(p, {}, 3, async () => {
      for (const location of [PAGE_1, PAGE_1, PAGE_2]) {
        clock.move(10);
        times.push(now());
        await p.set('a', location, { durable: true });
      }
    });
    assert.deepEqual(events, [
      { type: 'durable', id: 'a', location: PAGE_1, timestamp: times[0] },
      { type: 'durable', id: 'a', location: PAGE_1, timestamp: times[1] },
      { type: 'durable', id: 'a', location: PAGE_2, timestamp: times[2] },
    ]);
  });

  test('a presence stream has departed events for every location of a user who stops being a member, the durable one too', async () => {
    const p = await streams.presence('a', 'b', 'end');
    await p.set('a', PAGE_1);
    await p.set('a', PAGE_2);
    await p.set('a', PAGE_2, { durable: true });
    const events = await eventsAfter(p, {}, 3, async () => {
      expectDone(await p.project.post('/v1/groups/g/members', { remove: ['a', 'b'] }));
    });
    assert.deepEqual(events, [
      { type: 'departed', id: 'a', location: PAGE_1, reason: 'removed' },
      { type: 'departed', id: 'a', location: PAGE_2, reason: 'removed' },
      { type: 'departed', id: 'a', location: PAGE_2, reason: 'removed', durable: true },
    ]);
  });

  test('a presence stream has departed with reason removed for a deleted user, and arrived when the user is active again', async () => {
    const p = await streams.presence('a', 'end');
    await p.set('a', PAGE_1);
    await p.set('a', PAGE_2, { durable: true });
    const { timestamp } = (await p.entryOf('a')).durable as { timestamp: string };
    const events = await eventsAfter(p, {}, 4, async (reader) => {
      expectDone(await p.project.put('/v1/users/a', { status: 'deleted' }));
      // A user who is active again when the event of the deletion is applied has no departed events.
      await reader.changes(2);
      expectDone(await p.project.put('/v1/users/a', { status: 'active' }));
    });
    assert.deepEqual(events, [
      { type: 'departed', id: 'a', location: PAGE_1, reason: 'removed' },
      { type: 'departed', id: 'a', location: PAGE_2, reason: 'removed', durable: true },
      { type: 'arrived', id: 'a', location: PAGE_1 },
      { type: 'durable', id: 'a', location: PAGE_2, timestamp },
    ]);
  });

  test('a presence stream has no arrived event for a location that expired while the user was deleted', async () => {
    const p = await streams.presence('a', 'b', 'c');
    const reader = await streams.watch(p);
    for (const id of ['a', 'b']) await p.set(id, PAGE_1);
    await p.project.seed({ users: [{ id: 'a', status: 'deleted' }] });
    await reader.changes(3);
    // Both have expired when the event of the other one is sent.
    await p.pass(clock, 32);
    const expired = (await reader.changes(4))[3];
    assert.deepEqual(expired?.data, { id: 'b', location: PAGE_1, reason: 'expired' });
    await p.project.seed({ users: [{ id: 'a', status: 'active' }] });
    await p.set('c', PAGE_2);
    assert.deepEqual((await reader.changes(5))[4]?.data, { id: 'c', location: PAGE_2 });
  });

  test('a presence stream of a group with status deleted is empty until the group is active again', async () => {
    const p = await streams.presence('a', 'b', 'end');
    await p.set('a', PAGE_1);
    await p.set('b', PAGE_1, { durable: true });
    const reader = await streams.watch(p);
    expectDone(await p.project.put('/v1/groups/g', { status: 'deleted' }));
    const gone = (await reader.changes(2)).map(bare);
    assert.deepEqual(gone, [
      { type: 'departed', id: 'a', location: PAGE_1, reason: 'removed' },
      { type: 'departed', id: 'b', location: PAGE_1, reason: 'removed', durable: true },
    ]);
    const late = await streams.open(p);
    assert.deepEqual((await late.snapshot()).data, { users: [] });
    expectDone(await p.project.put('/v1/groups/g', { status: 'active' }));
    const back = (await reader.changes(4)).slice(2);
    assert.deepEqual(
      back.map(({ type, data }) => `${type} ${data.id}`),
      ['arrived a', 'durable b'],
    );
    assert.equal((await late.changes(2)).length, 2);
  });

  test('a presence stream ends with group_not_found after the departed events when the group is deleted', async () => {
    const p = await streams.presence('a');
    await p.set('a', PAGE_1);
    const reader = await streams.watch(p);
    expectDone(await p.project.delete('/v1/groups/g'));
    await reader.ended();
    assert.deepEqual((await reader.changes(2)).map(bare), [
      { type: 'departed', id: 'a', location: PAGE_1, reason: 'removed' },
      { type: 'error', error: 'group_not_found', message: 'group g does not exist' },
    ]);
  });

  test('a presence stream ends when its project is deleted', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    const { id } = p.project;
    expectDone(await streams.server.call(streams.server.customerToken(), 'DELETE', `/v1/projects/${id}`));
    await reader.ended();
    const last = reader.events.at(-1);
    assert.equal(last?.type, 'error');
    assert.ok(['group_not_found', 'project_not_found'].includes(last?.data.error), last?.data.error);
  });

  test('a presence stream ends when its token is no longer valid', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    const path = `/v1/projects/${p.project.id}/rotate-secret`;
    const answer = await streams.server.call(streams.server.customerToken(), 'POST', path, {
      overlap_seconds: 0,
    });
    assert.equal(answer.status, 200, answer.text);
    await reader.ended();
    assert.deepEqual(reader.events.at(-1)?.data.error, 'invalid_project_token');
  });
});

describe('the filters of a stream', () => {
  test('the filters of a stream show arrived events of matching locations only', async () => {
    const p = await streams.presence('a', 'end');
    const happen = async () => {
      await p.set('a', LINE);
      await p.set('a', PAGE_2);
      await p.setAbsent('a', PAGE_2);
      await p.set('a', PAGE_1);
    };
    const partly = await eventsAfter(p, PARTIAL_PAGE_1, 2, happen);
    assert.deepEqual(partly, [
      { type: 'arrived', id: 'a', location: LINE },
      { type: 'arrived', id: 'a', location: PAGE_1 },
    ]);
  });

  test('the filters of a stream make a move across their edge a departure, or an arrival from nowhere', async () => {
    const p = await streams.presence('a', 'end');
    const site: Location = { site: 's' };
    const move = (location: Location) => p.set('a', { ...site, ...location }, { exclusiveWithin: site });
    const events = await eventsAfter(p, PARTIAL_PAGE_1, 4, async () => {
      await move(PAGE_2);
      await move(PAGE_1);
      await move(LINE);
      await move(PAGE_2);
      await move(PAGE_1);
    });
    assert.deepEqual(events, [
      { type: 'arrived', id: 'a', location: { ...site, ...PAGE_1 } },
      { type: 'arrived', id: 'a', location: { ...site, ...LINE }, from: { ...site, ...PAGE_1 } },
      { type: 'departed', id: 'a', location: { ...site, ...LINE }, reason: 'moved' },
      { type: 'arrived', id: 'a', location: { ...site, ...PAGE_1 } },
    ]);
  });

  test('the filters of a stream show the latest matching durable location: when it moves away, the one before is shown', async () => {
    const p = await streams.presence('a', 'end');
    const setDurable = async (location: Location, exclusiveWithin: Location) => {
      // No time passes, so that no reading of the record shows what the event is about to show.
      clock.jump(1_000);
      await p.set('a', location, { durable: true, exclusiveWithin });
    };
    await setDurable({ ...LINE, r: '1' }, { r: '1' });
    const earlier = (await p.entryOf('a')).durable?.timestamp;
    const events = await eventsAfter(p, PARTIAL_PAGE_1, 3, async (reader) => {
      await setDurable({ ...PAGE_1, r: '2' }, { r: '2' });
      await setDurable({ ...PAGE_2, r: '2' }, { r: '2' });
      // An event shows the durable location that the store has by then: the next one waits for it.
      await reader.changes(2);
      await setDurable({ ...PAGE_2, r: '1' }, { r: '1' });
    });
    assert.deepEqual(events[1], {
      type: 'durable',
      id: 'a',
      location: { ...LINE, r: '1' },
      timestamp: earlier,
    });
    assert.deepEqual(events[2], {
      type: 'departed',
      id: 'a',
      location: { ...LINE, r: '1' },
      reason: 'moved',
      durable: true,
    });
    assert.deepEqual(
      (await p.page(PARTIAL_PAGE_1)).users.map(({ id }) => id),
      ['end'],
    );
  });

  test('a stream with exclude_durable has no durable events', async () => {
    const p = await streams.presence('a', 'end');
    const events = await eventsAfter(p, { exclude_durable: 'true' }, 1, async () => {
      await p.set('a', PAGE_1, { durable: true });
      await p.set('a', PAGE_1);
    });
    assert.deepEqual(events, [{ type: 'arrived', id: 'a', location: PAGE_1 }]);
  });

  test('several streams of one group each have their own filter', async () => {
    const p = await streams.presence('a');
    const all = await streams.watch(p);
    const first = await streams.watch(p, PARTIAL_PAGE_1);
    const exact = await streams.watch(p, { location: JSON.stringify(PAGE_2) });
    await p.set('a', LINE);
    await p.set('a', PAGE_2);
    await p.set('a', PAGE_1);
    const locations = async (reader: typeof all, count: number) =>
      (await reader.changes(count)).map(({ data }) => data.location);
    assert.deepEqual(await locations(all, 3), [LINE, PAGE_2, PAGE_1]);
    assert.deepEqual(await locations(first, 2), [LINE, PAGE_1]);
    assert.deepEqual(await locations(exact, 1), [PAGE_2]);
  });
});
