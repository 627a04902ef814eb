/** The bounds of durable presence over HTTP, and its order where clocks differ. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { bare, StreamCase } from '../realtime/stream-case.ts';
import { jwt } from '../support/jwt.ts';
import type { Location, Presence } from '../support/presence-client.ts';
import type { StreamReader } from '../support/stream-reader.ts';

const streams = new StreamCase();
const { clock } = streams;

const DURABLE = { durable: true };
const KIB = 1_024;
/** The most locations of 8 KiB that a user may have. */
const FULL = limits.DURABLE_LOCATIONS_MAX_BYTES / (8 * KIB);

/** A location with a text of 8 KiB. */
function large(page: number): Location {
  const location: Record<string, string> = { page: String(page).padStart(4, '0'), site: 's' };
  for (let key = 0; key < 7; key += 1) location[`t${key}`] = 'x'.repeat(KIB);
  location.t7 = 'x'.repeat(8 * KIB - JSON.stringify({ ...location, t7: '' }).length);
  return location;
}

const only = (page: number) => ({
  location: JSON.stringify({ page: large(page).page }),
  partial_match: 'true',
});

async function fill(p: Presence, userId: string, first: number, count: number): Promise<void> {
  for (let page = first; page < first + count; page += 1) await p.set(userId, large(page), DURABLE);
}

/** The durable locations of a reader after a snapshot and these events. */
function knownBy(reader: StreamReader): [string, Location][] {
  const known = new Map<string, Location>();
  for (const { type, data } of reader.events) {
    if (type === 'snapshot') for (const { id, durable } of data.users) known.set(id, durable.location);
    if (type === 'durable') known.set(data.id, data.location);
    if (type === 'departed' && data.durable === true) known.delete(data.id);
  }
  return [...known];
}

const read = async (p: Presence, query: Record<string, string>): Promise<[string, Location][]> =>
  (await p.page(query)).users.map(({ id, durable }) => [id, durable?.location as Location]);

describe('more durable locations than the bounds allow', () => {
  test('durable locations beyond the bounds end the oldest, in readings and on streams with and without a filter', async () => {
    const p = await streams.presence('a', 'b');
    await fill(p, 'a', 0, FULL);
    await p.set('b', large(0), DURABLE);
    const [first, second, all] = [
      await streams.watch(p, only(0)),
      await streams.watch(p, only(1)),
      await streams.watch(p, { location: '{"site":"s"}', partial_match: 'true' }),
    ];
    await p.set('a', large(FULL), DURABLE);
    const [departed] = await first.changes(1);
    assert.deepEqual(departed && bare(departed), {
      ...{ type: 'departed', id: 'a', location: large(0), reason: 'removed', durable: true },
    });
    await p.set('a', { other: 'o' }, DURABLE);
    assert.deepEqual((await second.changes(1)).map(bare), [
      { type: 'departed', id: 'a', location: large(1), reason: 'removed', durable: true },
    ]);
    assert.deepEqual(
      (await all.changes(1)).map(({ type, data }) => [type, data.location]),
      [['durable', large(FULL)]],
      'the latest that the filter shows is still there',
    );
    for (const [reader, query] of [
      [first, only(0)],
      [second, only(1)],
      [all, { location: '{"site":"s"}', partial_match: 'true' }],
    ] as const)
      assert.deepEqual(knownBy(reader), await read(p, query));
    assert.deepEqual(await read(p, only(2)), [['a', large(2)]], 'no more than that ended');
    assert.deepEqual((await p.entryOf('a')).durable?.location, { other: 'o' });
  });

  test('the ends of durable locations beyond the bounds are sent to a reader that reconnects after they ended', async () => {
    const p = await streams.presence('a', 'end');
    await fill(p, 'a', 0, FULL);
    const left = await streams.watch(p, only(0));
    const lastId = left.events[0]?.id as string;
    left.close();
    await p.set('a', large(FULL), DURABLE);
    await p.set('end', large(0), {});
    const back = await streams.open(p, only(0), { 'last-event-id': lastId });
    await back.until('what was missed', () => back.text.includes('"end"'));
    const resumed = [...left.events, ...back.events];
    assert.deepEqual(knownBy({ events: resumed } as unknown as StreamReader), []);
  });

  test('durable locations of a browser beyond the bounds end those of its own user alone, however often it sets new ones', async () => {
    const p = await streams.presence('a', 'b');
    await p.set('b', large(0), DURABLE);
    const { id, secret, url } = p.project;
    const token = jwt({ project_id: id, user_id: 'a', group_id: 'g', iat: streams.server.now() }, secret);
    for (let page = 0; page < FULL + 20; page += 1) {
      const answer = await fetch(new URL('/v1/client/presence', url), {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ location: large(page), durable: true }),
      });
      assert.equal(answer.status, 200, await answer.text());
    }
    const found = [0, 19, 20, FULL + 19].map((page) => read(p, only(page)));
    assert.deepEqual(await Promise.all(found), [
      [['b', large(0)]],
      [],
      [['a', large(20)]],
      [['a', large(FULL + 19)]],
    ]);
  });
});

describe('durable presence where clocks differ', () => {
  test('durable presence where clocks differ shows what was set last, in readings and on streams, and no time goes back', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    await p.set('a', { page: '1' }, DURABLE);
    const before = Date.parse((await p.entryOf('a')).durable?.timestamp as string);
    // Another process, whose clock is behind, would take this time.
    clock.jump(-900);
    await p.set('a', { page: '2' }, DURABLE);
    const { durable } = await p.entryOf('a');
    assert.deepEqual(durable, { location: { page: '2' }, timestamp: new Date(before + 1).toISOString() });
    await p.set('a', { page: '1' }, DURABLE);
    const last = (await p.entryOf('a')).durable;
    assert.deepEqual(last, { location: { page: '1' }, timestamp: new Date(before + 2).toISOString() });
    const events = (await reader.changes(3)).map(bare);
    assert.deepEqual(events.slice(1), [
      { type: 'durable', id: 'a', ...durable },
      { type: 'durable', id: 'a', ...last },
    ]);
    clock.jump(900);
  });

  test("durable presence where clocks differ leaves a user's updated_at where it is when a write comes from a clock that is behind", async () => {
    const { project } = await streams.presence('a');
    const before = (await project.user('a')).updated_at;
    clock.jump(-900);
    await project.put('/v1/users/a', { name: 'A' });
    await project.seed({ users: [{ id: 'a', name: 'B' }] });
    clock.jump(900);
    const after = await project.user('a');
    assert.deepEqual([after.name, after.updated_at], ['B', before]);
  });
});
