import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bare, LINE, PAGE_1, PAGE_2, PARTIAL_PAGE_1, StreamCase } from '../realtime/stream-case.ts';
import { expectDone } from '../support/expect.ts';
import type { Presence } from '../support/presence-client.ts';
import type { StreamReader } from '../support/stream-reader.ts';

const streams = new StreamCase();
const { clock } = streams;

/** Opens a stream, closes it after its snapshot, and resumes with its last ID. */
async function comeBack(
  p: Presence,
  query: Record<string, string>,
  meanwhile: (reader: StreamReader) => Promise<unknown>,
): Promise<StreamReader> {
  const reader = await streams.watch(p, query);
  const { id } = await reader.snapshot();
  reader.close();
  await reader.ended();
  await meanwhile(reader);
  return streams.open(p, query, { 'last-event-id': id });
}

describe('a stream that is resumed', () => {
  test('every event of a presence stream, also the snapshot, has an ID of an epoch and an ascending offset', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    for (const location of [PAGE_1, PAGE_2, LINE]) await p.set('a', location);
    await reader.changes(3);
    const ids = reader.events.map(({ id }) => /^([A-Za-z0-9_]+)-(\d+)(?:-[0-9a-f]+)?$/.exec(id));
    const [first] = ids;
    const start = Number(first?.[2]);
    assert.deepEqual(
      ids.map((id) => [id?.[1], Number(id?.[2])]),
      [0, 1, 2, 3].map((step) => [first?.[1], start + step]),
    );
  });

  test('a resumed presence stream continues with the missed events, without a snapshot', async () => {
    const p = await streams.presence('a', 'b');
    await p.set('b', PAGE_1);
    const back = await comeBack(p, {}, async () => {
      await p.set('a', PAGE_1);
      await p.set('a', LINE, { exclusiveWithin: PAGE_1 });
      await p.setAbsent('b', PAGE_1);
      await p.set('a', PAGE_2, { durable: true });
      expectDone(await p.project.post('/v1/groups/g/members', { remove: ['b'] }));
    });
    await p.set('a', PAGE_2);
    const events = await back.changes(5);
    assert.deepEqual(events.map(bare), [
      { type: 'arrived', id: 'a', location: PAGE_1 },
      { type: 'arrived', id: 'a', location: LINE, from: PAGE_1 },
      { type: 'departed', id: 'b', location: PAGE_1, reason: 'absent' },
      { type: 'durable', id: 'a', location: PAGE_2, timestamp: new Date(clock.now()).toISOString() },
      { type: 'arrived', id: 'a', location: PAGE_2 },
    ]);
    assert.equal(back.events.length, 5, 'no snapshot');
  });

  test('a resumed presence stream has departed for a present member who was removed, without a snapshot', async () => {
    const p = await streams.presence('a', 'b', 'c');
    await p.set('b', PAGE_1);
    for (const query of [{}, PARTIAL_PAGE_1]) {
      const back = await comeBack(p, query, async () => {
        expectDone(await p.project.post('/v1/groups/g/members', { remove: ['b', 'c'] }));
        await p.set('a', PAGE_1);
      });
      assert.deepEqual((await back.changes(2)).map(bare), [
        { type: 'departed', id: 'b', location: PAGE_1, reason: 'removed' },
        { type: 'arrived', id: 'a', location: PAGE_1 },
      ]);
      assert.equal(back.events.length, 2, 'no snapshot');
      expectDone(await p.project.post('/v1/groups/g/members', { remove: ['a'], add: ['b', 'c'] }));
      expectDone(await p.project.post('/v1/groups/g/members', { add: ['a'] }));
      await p.set('b', PAGE_1);
    }
  });

  test('a stream that resumes has departed for a durable location that moved before another durable update', async () => {
    const p = await streams.presence('a');
    const [site, other] = [{ site: 's' }, { site: 't' }];
    await p.set('a', { ...site, ...PAGE_1 }, { exclusiveWithin: site, durable: true });
    // No stream with the filter is open on this process, as after one on another process.
    const { id } = await (await streams.watch(p)).snapshot();
    await p.set('a', { ...site, ...PAGE_2 }, { exclusiveWithin: site, durable: true });
    await p.set('a', { ...other, ...PAGE_2 }, { exclusiveWithin: other, durable: true });
    const back = await streams.open(p, PARTIAL_PAGE_1, { 'last-event-id': id });
    assert.deepEqual((await back.changes(1)).map(bare), [
      { ...{ type: 'departed', id: 'a', location: { ...site, ...PAGE_1 } }, reason: 'moved', durable: true },
    ]);
  });

  test('a stream with expand=user that resumes has a user event after a durable event', async () => {
    const p = await streams.presence('a');
    const { id } = await (await streams.watch(p)).snapshot();
    await p.set('a', PAGE_1, { durable: true });
    const back = await streams.open(p, { expand: 'user' }, { 'last-event-id': id });
    assert.deepEqual(
      (await back.changes(2)).map(({ type, data }) => [type, data.id]),
      [
        ['durable', 'a'],
        ['user', 'a'],
      ],
    );
  });

  test('a resumed presence stream misses no event of its filter', async () => {
    const p = await streams.presence('a');
    const site = { site: 's' };
    const back = await comeBack(p, PARTIAL_PAGE_1, async () => {
      for (const location of [PAGE_2, PAGE_1, PAGE_2]) {
        await p.set('a', { ...site, ...location }, { exclusiveWithin: site });
      }
    });
    assert.deepEqual((await back.changes(2)).map(bare), [
      { type: 'arrived', id: 'a', location: { ...site, ...PAGE_1 } },
      { type: 'departed', id: 'a', location: { ...site, ...PAGE_1 }, reason: 'moved' },
    ]);
  });

  test('a resumed presence stream has no event where nothing changed, and then the new ones', async () => {
    const p = await streams.presence('a');
    const back = await comeBack(p, {}, async () => {});
    assert.equal(back.status, 200);
    await p.set('a', PAGE_1);
    await back.changes(1);
    assert.equal(back.events.length, 1);
  });

  test('a resumed presence stream continues within the events of one change of the group', async () => {
    const p = await streams.presence('a', 'b');
    for (const id of ['a', 'b']) for (const location of [PAGE_1, PAGE_2]) await p.set(id, location);
    const reader = await streams.watch(p);
    expectDone(await p.project.post('/v1/groups/g/members', { remove: ['a', 'b'] }));
    const events = await reader.changes(4);
    for (const { id } of events.slice(0, 3)) {
      const back = await streams.open(p, {}, { 'last-event-id': id });
      // The client may have received some of the events already; it receives the others now.
      assert.deepEqual((await back.changes(4)).map(bare), events.map(bare));
    }
    const after = await streams.open(p, {}, { 'last-event-id': events[3]?.id as string });
    await p.project.post('/v1/groups/g/members', { add: ['a'] });
    await p.set('a', LINE);
    assert.equal((await after.changes(1))[0]?.data.location.line, '1');
  });

  test('a resumed presence stream continues from the ID of a heartbeat, where its filter showed no event', async () => {
    const p = await streams.presence('a');
    const query = { location: JSON.stringify(PAGE_1) };
    const reader = await streams.watch(p, query);
    const { id } = await reader.snapshot();
    const all = await streams.watch(p);
    await all.snapshot();
    await p.set('a', PAGE_2);
    // The event has come to this process, and so to its filtered stream.
    const here = (await all.changes(1))[0]?.id;
    assert.notEqual(here, id);
    clock.move(15_000);
    await reader.until('the heartbeat', () => reader.parser.comments > 0);
    assert.equal(reader.parser.lastEventId, here);
  });

  test('a resumed presence stream continues also when the group had no readers for a while', async () => {
    const p = await streams.presence('a');
    const back = await comeBack(p, {}, async () => {
      await p.set('a', PAGE_1);
      await p.pass(clock, 45);
    });
    const events = await back.changes(2);
    assert.deepEqual(
      events.map(({ type, data }) => `${type} ${data.reason ?? ''}`.trim()),
      ['arrived', 'departed expired'],
    );
  });

  test('a resumed presence stream begins with a snapshot when its history is gone', async () => {
    const p = await streams.presence('a');
    const back = await comeBack(p, {}, async () => {
      await p.pass(clock, 120);
      await p.set('a', PAGE_1);
    });
    assert.deepEqual((await back.snapshot()).data.users.length, 1);
  });

  test('a resumed presence stream begins with a snapshot when it missed more than the history has', async () => {
    const p = await streams.presence('a', 'b');
    const updates = (offset: number) =>
      Array.from({ length: 500 }, (_, index) => ({
        userID: 'a',
        groupID: 'g',
        location: { page: '1', line: `${offset + index}` },
        exclusiveWithin: PAGE_1,
      }));
    const back = await comeBack(p, {}, async () => {
      for (const offset of [0, 500, 1_000]) {
        const answer = await p.project.put('/v1/presence', { updates: updates(offset) });
        assert.equal(answer.status, 200, answer.text);
      }
    });
    const { data } = await back.snapshot();
    assert.deepEqual(data.users[0].ephemeral.locations, [{ page: '1', line: '1499' }]);
  });

  test('a resumed presence stream begins with a snapshot for an ID that is not of its group', async () => {
    const p = await streams.presence('a');
    await p.set('a', PAGE_1);
    const reader = await streams.watch(p);
    const { id } = await reader.snapshot();
    const [epoch, offset] = id.split('-') as [string, string];
    for (const wrong of [
      '',
      'x',
      '7',
      `${epoch}`,
      `${epoch}-`,
      `${epoch}--1`,
      `${epoch}-${offset}x`,
      `${epoch}-0${offset}`,
      `${epoch}-${Number(offset) + 1}`,
      `${epoch}-99999999999999999999`,
      `${epoch}-9007199254740991`,
      `another-${offset}`,
      `__proto__-${offset}`,
    ]) {
      const back = await streams.open(p, {}, { 'last-event-id': wrong });
      const { data } = await back.snapshot();
      assert.equal(data.users.length, 1, wrong);
      back.close();
    }
  });
});
