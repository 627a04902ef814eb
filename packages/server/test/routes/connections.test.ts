import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { ReaderModel } from '../realtime/reader-model.ts';
import { bare, PAGE_1, PAGE_2, StreamCase } from '../realtime/stream-case.ts';
import { Browser, clientToken } from '../support/browser.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import type { Presence } from '../support/presence-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const streams = new StreamCase();
const SITE = { exclusiveWithin: { site: 's' } };
const at = (page: string) => ({ site: 's', page });

const put = async (p: Presence, body: Record<string, unknown>) => expectDone(await p.put('a', body), 'a');

describe('connectionID of a presence update', () => {
  test('a user with two connectionIDs leaves a location with departed when the last holder is absent', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    await put(p, { location: PAGE_1, connectionID: 'tab-1' });
    await put(p, { location: PAGE_1, connectionID: 'tab-2' });
    await put(p, { location: PAGE_1, connectionID: 'tab-1', absent: true });
    assert.deepEqual(await p.locationsOf('a'), [PAGE_1]);
    await put(p, { location: PAGE_1, connectionID: 'tab-2', absent: true });
    assert.deepEqual(await p.locationsOf('a'), []);
    assert.deepEqual((await reader.changes(2)).map(bare), [
      { type: 'arrived', id: 'a', location: PAGE_1 },
      { type: 'departed', id: 'a', location: PAGE_1, reason: 'absent' },
    ]);
  });

  test('absent without connectionID clears the location of every holder', async () => {
    const p = await streams.presence('a');
    await put(p, { location: PAGE_1, connectionID: '!~' });
    await put(p, { location: PAGE_1 });
    await put(p, { location: PAGE_1, absent: true });
    assert.deepEqual(await p.locationsOf('a'), []);
  });

  test('when the newest holder of an exclusive region goes, the user has arrived from there at the next newest', async () => {
    const p = await streams.presence('a');
    const reader = await streams.watch(p);
    await put(p, { location: at('1'), connectionID: 'one', ...SITE });
    await put(p, { location: at('2'), connectionID: 'two', ...SITE });
    await put(p, { location: at('1'), connectionID: 'one', ...SITE });
    await put(p, { location: at('2'), connectionID: 'two', absent: true });
    assert.deepEqual(await p.locationsOf('a'), [at('1')]);
    assert.deepEqual((await reader.changes(3)).map(bare), [
      { type: 'arrived', id: 'a', location: at('1') },
      { type: 'arrived', id: 'a', location: at('2'), from: at('1') },
      { type: 'arrived', id: 'a', location: at('1'), from: at('2') },
    ]);
  });

  test('connectionID is 1 to 64 visible ASCII characters, and neither it nor data go with durable', async () => {
    const p = await streams.presence('a');
    for (const connectionID of ['', 'a b', 'é', 'x'.repeat(65), '\x7f', 'a\n', 7, null]) {
      expectError(await p.put('a', { location: PAGE_1, connectionID }), 400, 'invalid_field', 'connectionID');
    }
    await put(p, { location: PAGE_1, connectionID: 'x'.repeat(64) });
    const durable = { location: PAGE_1, durable: true };
    expectError(
      await p.put('a', { ...durable, connectionID: 'a', data: {} }),
      400,
      'invalid_field',
      'connectionID',
      'data',
    );
    expectError(await p.put('a', { ...durable, data: null }), 400, 'invalid_field', 'data');
  });

  test('PUT /v1/presence takes connectionID and data in each update', async () => {
    const p = await streams.presence('a', 'b');
    const update = { groupID: 'g', location: PAGE_1 };
    const updates = [
      { userID: 'a', ...update, connectionID: 'one', data: { x: 1 } },
      { userID: 'a', ...update, connectionID: 'two' },
      { userID: 'a', ...update, connectionID: 'two', absent: true },
    ];
    expectOk(await p.project.put('/v1/presence', { updates }));
    assert.deepEqual(await p.page({ expand: 'data' }), {
      users: [{ id: 'a', ephemeral: { locations: [PAGE_1], data: [{ x: 1 }] } }],
      pagination: { token: null },
    });
    const wrong = { updates: [{ ...updates[0], durable: true }] };
    expectError(
      await p.project.put('/v1/presence', wrong),
      400,
      'invalid_field',
      'updates[0].connectionID',
      'updates[0].data',
    );
  });
});

describe('data and expand of presence', () => {
  test('data of at most 1 KiB is replaced, left and cleared, and is shown with expand=data alone', async () => {
    const p = await streams.presence('a', 'b');
    await put(p, { location: PAGE_1, data: { color: 'red' } });
    await put(p, { location: PAGE_1 });
    await p.set('b', PAGE_1);
    const shown = async () => (await p.page({ expand: 'data' })).users.map(({ ephemeral }) => ephemeral.data);
    assert.deepEqual(await shown(), [[{ color: 'red' }], [null]]);
    assert.deepEqual((await p.everyone())[0], { id: 'a', ephemeral: { locations: [PAGE_1] } });
    const own = await p.project.get('/v1/users/a/presence?groupID=g&expand=data');
    assert.deepEqual(expectOk(own), {
      id: 'a',
      ephemeral: { locations: [PAGE_1], data: [{ color: 'red' }] },
    });
    const largest = { text: 'é'.repeat((limits.PRESENCE_DATA_MAX_BYTES - '{"text":""}'.length - 1) / 2) };
    await put(p, { location: PAGE_1, data: largest });
    assert.deepEqual((await shown())[0], [largest]);
    for (const data of [{ text: `${largest.text}éé` }, 'text', 7, []]) {
      expectError(await p.put('a', { location: PAGE_1, data }), 400, 'invalid_field', 'data');
    }
    await put(p, { location: PAGE_1, data: null });
    assert.deepEqual(await shown(), [[null], [null]]);
  });

  test('expand=user adds name and profile_picture_url to entries, and other values are invalid_field', async () => {
    const p = await streams.presence('a');
    expectDone(
      await p.project.put('/v1/users/a', { name: 'Ada', profile_picture_url: 'https://x.example/a' }),
    );
    await p.set('a', PAGE_1);
    const user = { name: 'Ada', profile_picture_url: 'https://x.example/a' };
    for (const expand of ['user', 'user,data', 'data,user']) {
      const [entry] = (await p.page({ expand })).users;
      assert.deepEqual(entry?.user, user);
      assert.equal(entry?.ephemeral.data !== undefined, expand !== 'user');
    }
    for (const expand of ['', 'users', 'data,', 'data, user', 'data,data']) {
      const answer = await p.project.get(`/v1/groups/g/presence?${new URLSearchParams({ expand })}`);
      expectError(answer, 400, 'invalid_field', 'expand');
    }
    for (const path of ['/v1/groups/g/presence?', '/v1/users/a/presence?groupID=g&']) {
      const answer = await p.project.get(`${path}expand=data&expand=user`);
      expectError(answer, 400, 'invalid_field', 'expand');
    }
  });

  test('a stream with expand=data,user has data and user events, and arrived with the user', async () => {
    const p = await streams.presence('a', 'b');
    const plain = await streams.watch(p);
    const reader = await streams.watch(p, { expand: 'data,user' });
    await put(p, { location: PAGE_1, data: { x: 1 } });
    await put(p, { location: PAGE_1, data: { x: 2 } });
    await reader.changes(3);
    expectDone(await p.project.put('/v1/users/a', { name: 'Ada' }));
    await reader.changes(4);
    await put(p, { location: PAGE_1, data: null });
    await p.set('b', PAGE_2);
    const user = { name: null, profile_picture_url: null };
    assert.deepEqual((await reader.changes(6)).map(bare), [
      { type: 'arrived', id: 'a', location: PAGE_1, user },
      { type: 'data', id: 'a', location: PAGE_1, data: { x: 1 } },
      { type: 'data', id: 'a', location: PAGE_1, data: { x: 2 } },
      { type: 'user', id: 'a', user: { ...user, name: 'Ada' } },
      { type: 'data', id: 'a', location: PAGE_1, data: null },
      { type: 'arrived', id: 'b', location: PAGE_2, user },
    ]);
    assert.deepEqual((await plain.changes(2)).map(bare), [
      { type: 'arrived', id: 'a', location: PAGE_1 },
      { type: 'arrived', id: 'b', location: PAGE_2 },
    ]);
    await put(p, { location: PAGE_1, data: { x: 3 } });
    await reader.changes(7);
    const { data } = await (await streams.open(p, { expand: 'data,user' })).snapshot();
    assert.deepEqual(data.users, (await p.page({ expand: 'data,user' })).users);
  });

  test('a stream with expand=user shows the name of a user who changed it while absent or deleted', async () => {
    const p = await streams.presence('a', 'b');
    await put(p, { location: PAGE_1 });
    await p.set('b', PAGE_2, { durable: true });
    expectDone(await p.project.put('/v1/users/b', { status: 'deleted' }));
    const reader = await streams.watch(p, { expand: 'user' });
    await put(p, { location: PAGE_1, absent: true });
    await reader.changes(1);
    expectDone(await p.project.put('/v1/users/a', { name: 'Ada' }));
    expectDone(await p.project.put('/v1/users/b', { name: 'Bob', status: 'active' }));
    await reader.changes(3);
    await put(p, { location: PAGE_1 });
    assert.deepEqual((await reader.changes(4))[3]?.data.user.name, 'Ada');
    const { users } = await p.page({ expand: 'user' });
    assert.deepEqual(ReaderModel.of(reader.events).entries(), users);
    const { data } = await (await streams.open(p, { expand: 'user' })).snapshot();
    assert.deepEqual(data.users, users);
  });

  test('a stream with expand=user has a user event after a durable event that shows the user first', async () => {
    const p = await streams.presence('a', 'b');
    const reader = await streams.watch(p, { expand: 'user', location: JSON.stringify(PAGE_1) });
    await p.set('a', PAGE_2);
    await p.set('a', PAGE_1, { durable: true });
    await p.set('a', PAGE_1, { durable: true });
    await p.set('b', PAGE_1);
    await p.set('b', PAGE_1, { durable: true });
    const types = (await reader.changes(5)).map(({ type, data }) => [type, data.id]);
    assert.deepEqual(types, [
      ['durable', 'a'],
      ['user', 'a'],
      ['durable', 'a'],
      ['arrived', 'b'],
      ['durable', 'b'],
    ]);
    const { users } = await p.page({ expand: 'user', location: JSON.stringify(PAGE_1) });
    assert.deepEqual(ReaderModel.of(reader.events).entries(), users);
  });

  test('a stream with expand=data that resumes with Last-Event-ID has the data events that it missed', async () => {
    const p = await streams.presence('a', 'b');
    const reader = await streams.open(p, { expand: 'data' });
    const { id } = await reader.snapshot();
    await put(p, { location: PAGE_1, data: { x: 1 } });
    await put(p, { location: PAGE_1, data: { x: 2 } });
    await reader.changes(3);
    const again = await streams.open(p, { expand: 'data' }, { 'last-event-id': id as string });
    await again.until('the missed events', () => again.events.length === 3);
    assert.deepEqual(again.events.map(bare).at(-1), {
      ...{ type: 'data', id: 'a', location: PAGE_1 },
      data: { x: 2 },
    });
  });
});

describe('connectionID of a client presence stream', () => {
  const tokenOf = (p: Presence) => clientToken(p.project, { user_id: 'a' }, streams.clock.now());
  const open = async (p: Presence, connectionID: string) => {
    const path = `/v1/client/presence?${new URLSearchParams({ groupID: 'g', connectionID })}`;
    const reader = await StreamReader.open({ url: p.project.url, token: tokenOf(p) }, path);
    await reader.snapshot();
    return reader;
  };

  /** Closes a stream, and waits until the server has noticed it: only `others` are open then. */
  const closed = async (reader: StreamReader, others: number) => {
    reader.close();
    await until('the server to notice it', async () => {
      const { text } = await streams.server.bare('GET', '/metrics');
      return text.includes(`\nrollcall_presence_streams ${others}\n`);
    });
  };

  test('what a connectionID holds is released 2 s after its stream closes, and nothing else of the user', async () => {
    const p = await streams.presence('a', 'b');
    const watcher = await streams.watch(p);
    const reader = await open(p, 'tab');
    await put(p, { location: PAGE_1, connectionID: 'tab' });
    await put(p, { location: PAGE_2, connectionID: 'other' });
    await closed(reader, 1);
    await p.pass(streams.clock, 1);
    streams.clock.move(999);
    assert.deepEqual(await p.locationsOf('a'), [PAGE_1, PAGE_2]);
    streams.clock.move(1);
    assert.deepEqual(await p.locationsOf('a'), [PAGE_2]);
    await p.pass(streams.clock, 1);
    assert.deepEqual((await watcher.changes(3)).map(bare)[2], {
      ...{ type: 'departed', id: 'a', location: PAGE_1 },
      reason: 'expired',
    });
  });

  test('a connectionID that has another stream open keeps its holds, and so does one that is back in time', async () => {
    const p = await streams.presence('a', 'b');
    const first = await open(p, 'tab');
    const second = await open(p, 'tab');
    await put(p, { location: PAGE_1, connectionID: 'tab' });
    await closed(first, 1);
    await p.pass(streams.clock, 4);
    assert.deepEqual(await p.locationsOf('a'), [PAGE_1]);
    await closed(second, 0);
    await p.pass(streams.clock, 1);
    streams.clock.move(999);
    const third = await open(p, 'tab');
    await p.pass(streams.clock, 4);
    assert.deepEqual(await p.locationsOf('a'), [PAGE_1]);
    third.close();
  });

  test('connectionID is unexpected on a host stream, and invalid_field on a reading', async () => {
    const p = await streams.presence('a');
    const asStream = { accept: 'text/event-stream' };
    const host = await p.project.get('/v1/groups/g/presence?connectionID=tab', asStream);
    expectError(host, 400, 'unexpected_field', 'connectionID');
    const browser = new Browser(p.project, tokenOf(p));
    expectError(
      await browser.get('/v1/client/presence?groupID=g&connectionID=tab'),
      400,
      'invalid_field',
      'connectionID',
    );
    expectError(
      await browser.get('/v1/client/presence?groupID=g&connectionID=', asStream),
      400,
      'invalid_field',
    );
  });
});
