import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError, expectNotFound } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { type Location, Presence, pageLocation as page, sorted } from '../support/presence-client.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
const TTL_MS = 30_000;

const presence = (from = server) => Presence.inNewProject(from);

describe('PUT /v1/users/<USER_ID>/presence', () => {
  test('PUT /v1/users/<USER_ID>/presence sets the user present at the location, and the message names the user', async () => {
    const p = await presence();
    expectDone(await p.put('a', { location: page(1) }), 'a');
    assert.deepEqual(await p.everyone(), [{ id: 'a', ephemeral: { locations: [page(1)] } }]);
  });

  test('PUT /v1/users/<USER_ID>/presence needs groupID and location', async () => {
    const p = await presence();
    const path = '/v1/users/a/presence';
    expectError(await p.project.put(path, {}), 400, 'missing_field', 'groupID', 'location');
    expectError(await p.project.put(path, { groupID: 'g' }), 400, 'missing_field', 'location');
    expectError(await p.project.put(path, { location: page(1) }), 400, 'missing_field', 'groupID');
  });

  test('PUT /v1/users/<USER_ID>/presence of an unknown or deleted user is user_not_found', async () => {
    const p = await presence();
    expectNotFound(await p.put('nobody', { location: page(1) }), 'user_not_found', 'nobody');
    await p.project.seed({ users: [{ id: 'a', status: 'deleted' }] });
    for (const durable of [false, true]) {
      expectNotFound(await p.put('a', { location: page(1), durable }), 'user_not_found', 'a');
    }
  });

  test('PUT /v1/users/<USER_ID>/presence is user_not_found at once for a user whom a batch sets deleted after it creates another one', async () => {
    const p = await presence();
    // What is known of the user is cached.
    await p.set('a', page(1));
    await p.set('a', page(1));
    await p.project.seed({ users: [{ id: 'new' }, { id: 'a', status: 'deleted' }] });
    expectNotFound(await p.put('a', { location: page(1) }), 'user_not_found', 'a');
  });

  test('PUT /v1/users/<USER_ID>/presence in a group that does not exist, or is set deleted, is group_not_found', async () => {
    const p = await presence();
    expectNotFound(await p.put('a', { groupID: 'nowhere', location: page(1) }), 'group_not_found', 'nowhere');
    expectDone(await p.project.put('/v1/groups/g', { status: 'deleted' }));
    for (const durable of [false, true]) {
      expectNotFound(await p.put('a', { location: page(1), durable }), 'group_not_found', 'g');
    }
  });

  test('PUT /v1/users/<USER_ID>/presence of a user who is not a member is user_not_found, with the message "not a member of group …"', async () => {
    const p = await presence();
    for (const durable of [false, true]) {
      expectNotFound(
        await p.put('x', { location: page(1), durable }),
        'user_not_found',
        'x',
        'not a member of group g',
      );
    }
  });

  test('PUT /v1/users/<USER_ID>/presence checks the user, then the group, then the membership', async () => {
    const p = await presence();
    await p.project.seed({ users: [{ id: 'gone', status: 'deleted' }] });
    for (const kind of [{}, { durable: true }, { absent: true }]) {
      const update = { location: page(1), ...kind };
      for (const id of ['nobody', 'gone'])
        expectNotFound(await p.put(id, { ...update, groupID: 'nowhere' }), 'user_not_found', `user ${id}`);
    }
    expectDone(await p.project.put('/v1/groups/g', { status: 'deleted' }));
    for (const kind of [{}, { durable: true }, { absent: true }]) {
      const update = { location: page(1), ...kind };
      expectNotFound(await p.put('gone', update), 'user_not_found', 'user gone');
      expectNotFound(await p.put('x', update), 'group_not_found', 'group g');
    }
  });

  test('a location is an object of 1 to 16 string keys with string values of up to 1,024 code points', async () => {
    const p = await presence();
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    const long = '🎉'.repeat(1_024);
    const fine = [pairs(16), { [long]: 'v' }, { k: long }, { k: '' }, { __proto__x: 'v' }, { k: 'Ü/%?' }];
    for (const location of fine) await p.set('a', location);
    const wrong = [
      {},
      pairs(17),
      { [`${long}x`]: 'v' },
      { k: `${long}x` },
      { k: 1 },
      { k: null },
      { k: {} },
      [],
      ['k'],
      'k',
      7,
      null,
    ];
    for (const location of wrong)
      expectError(await p.put('a', { location }), 400, 'invalid_field', 'location');
  });

  test('a location key named __proto__ or constructor is a key like any other', async () => {
    const p = await presence();
    const body = '{"groupID":"g","location":{"__proto__":"1","constructor":"2"}}';
    expectDone(await p.project.send('PUT', '/v1/users/a/presence', body));
    const { text } = await p.project.get('/v1/groups/g/presence');
    assert.match(text, /"__proto__":\s*"1"/);
    assert.match(text, /"constructor":\s*"2"/);
  });

  test('fields of a presence update with another type are invalid_field', async () => {
    const p = await presence();
    const wrong = { groupID: 7, exclusiveWithin: 'page', durable: 'true', absent: 1 };
    for (const [field, value] of Object.entries(wrong)) {
      expectError(await p.put('a', { location: page(1), [field]: value }), 400, 'invalid_field', field);
      expectError(await p.put('a', { location: page(1), [field]: null }), 400, 'invalid_field', field);
    }
    for (const groupID of ['', 'a\0', 'x'.repeat(321)]) {
      expectError(await p.put('a', { groupID, location: page(1) }), 400, 'invalid_field', 'groupID');
    }
  });

  test('the order of keys in a location never matters', async () => {
    const p = await presence();
    await p.set('a', { page: '1', paragraph: '2' });
    await p.set('a', { paragraph: '2', page: '1' });
    assert.equal((await p.locationsOf('a')).length, 1);
    await p.setAbsent('a', { paragraph: '2', page: '1' });
    assert.deepEqual(await p.everyone(), []);
  });

  test('location must match exclusiveWithin: every pair of it', async () => {
    const p = await presence();
    for (const exclusiveWithin of [page(2), page(1, { x: '1' }), { other: '1' }]) {
      expectError(await p.put('a', { location: page(1, { y: '1' }), exclusiveWithin }), 400, 'invalid_field');
    }
    await p.set('a', page(1, { y: '1' }), { exclusiveWithin: page(1) });
    await p.set('b', page(1), { exclusiveWithin: page(1) });
  });

  test('a presence update with absent and durable is invalid_field; false is as if omitted', async () => {
    const p = await presence();
    const rejected = await p.put('a', { location: page(1), absent: true, durable: true });
    expectError(rejected, 400, 'invalid_field', 'absent', 'durable');
    expectDone(await p.put('a', { location: page(1), absent: false, durable: false }));
    assert.deepEqual(await p.locationsOf('a'), [page(1)]);
    expectDone(await p.put('a', { location: page(1), absent: true, durable: false }));
    assert.deepEqual(await p.everyone(), []);
  });
});

describe('ephemeral presence', () => {
  test('ephemeral presence lasts for the TTL after the update, and not a millisecond longer', async () => {
    const p = await presence();
    await p.set('a', page(1));
    clock.move(TTL_MS - 1);
    assert.deepEqual(await p.locationsOf('a'), [page(1)]);
    clock.move(1);
    assert.deepEqual(await p.everyone(), []);
    assert.deepEqual(await p.entryOf('a'), { id: 'a', ephemeral: { locations: [] } });
  });

  test('ephemeral presence lasts for the TTL after its last update', async () => {
    const p = await presence();
    await p.set('a', page(1));
    for (let count = 0; count < 3; count += 1) {
      clock.move(TTL_MS - 1_000);
      await p.set('a', page(1));
    }
    clock.move(TTL_MS - 1);
    assert.deepEqual(await p.locationsOf('a'), [page(1)]);
    clock.move(1);
    assert.deepEqual(await p.everyone(), []);
  });

  test('ephemeral presence has deadlines of its own at each location', async () => {
    const p = await presence();
    await p.set('a', page(1));
    clock.move(TTL_MS / 2);
    await p.set('a', page(2));
    await p.set('b', page(1));
    clock.move(TTL_MS / 2);
    assert.deepEqual(await p.ephemeral(), { a: [page(2)], b: [page(1)] });
  });

  test('a presence update without exclusiveWithin has its location as the region, so a user can be at several', async () => {
    const p = await presence();
    await p.set('a', page(1));
    await p.set('a', page(2));
    await p.set('a', page(1, { x: '1' }));
    assert.deepEqual(sorted(await p.locationsOf('a')), sorted([page(1), page(2), page(1, { x: '1' })]));
  });

  test('ephemeral presence belongs to one group: the same location in another group is another presence', async () => {
    const p = await presence();
    await p.set('a', page(1));
    expectDone(await p.put('a', { groupID: 'h', location: page(1) }));
    await p.setAbsent('a', page(1));
    assert.deepEqual(await p.ephemeral('h'), { a: [page(1)] });
    assert.deepEqual(await p.everyone(), []);
  });

  test('ephemeral presence ends after ROLLCALL_PRESENCE_TTL_SECONDS', async () => {
    const p = await presence(brief);
    await p.set('a', page(1));
    briefClock.move(4_999);
    assert.deepEqual(await p.locationsOf('a'), [page(1)]);
    briefClock.move(1);
    assert.deepEqual(await p.everyone(), []);
  });
  const briefClock = new MovedClock();
  const brief = clockedServer({ clock: briefClock, settings: { presenceTtlSeconds: 5 } });
});

describe('exclusive presence', () => {
  const inBook = { exclusiveWithin: { book: 'A' } };
  const at = (chapter: number): Location => ({ book: 'A', chapter: String(chapter) });

  test('every presence update with the same exclusiveWithin moves the user from the previous location inside it', async () => {
    const p = await presence();
    for (const chapter of [1, 2, 3]) {
      await p.set('a', at(chapter), inBook);
      assert.deepEqual(await p.locationsOf('a'), [at(chapter)]);
    }
  });

  test('exclusive presence moves only this user', async () => {
    const p = await presence();
    await p.set('a', at(1), inBook);
    await p.set('b', at(1), inBook);
    await p.set('b', at(2), inBook);
    assert.deepEqual(await p.ephemeral(), { a: [at(1)], b: [at(2)] });
  });

  test('exclusive presence moves only in this group', async () => {
    const p = await presence();
    await p.set('a', at(1), inBook);
    expectDone(await p.put('a', { groupID: 'h', location: at(2), ...inBook }));
    assert.deepEqual(await p.ephemeral('g'), { a: [at(1)] });
    assert.deepEqual(await p.ephemeral('h'), { a: [at(2)] });
  });

  test('exclusive presence moves only within the same value; its key order does not matter', async () => {
    const p = await presence();
    const locationAt = (word: string): Location => ({ book: 'A', part: '1', word });
    await p.set('a', locationAt('one'), { exclusiveWithin: { book: 'A' } });
    await p.set('a', locationAt('two'), { exclusiveWithin: { book: 'A', part: '1' } });
    assert.equal((await p.locationsOf('a')).length, 2);
    await p.set('a', locationAt('three'), { exclusiveWithin: { part: '1', book: 'A' } });
    assert.deepEqual(sorted(await p.locationsOf('a')), sorted([locationAt('one'), locationAt('three')]));
  });

  test('exclusive presence does not touch locations that were set without exclusiveWithin', async () => {
    const p = await presence();
    await p.set('a', at(1));
    await p.set('a', at(2), inBook);
    await p.set('a', at(3), inBook);
    assert.deepEqual(sorted(await p.locationsOf('a')), sorted([at(1), at(3)]));
  });

  test('exclusive presence at one location in two exclusive regions is read once, and ends with the later deadline', async () => {
    const p = await presence();
    await p.set('a', at(1));
    await p.set('a', at(1), inBook);
    assert.deepEqual(await p.locationsOf('a'), [at(1)]);
    await p.set('a', at(2), inBook);
    assert.deepEqual(sorted(await p.locationsOf('a')), sorted([at(1), at(2)]));
  });

  test('exclusive presence has a new deadline where it moves to', async () => {
    const p = await presence();
    await p.set('a', at(1), inBook);
    clock.move(TTL_MS - 1);
    await p.set('a', at(2), inBook);
    clock.move(TTL_MS - 1);
    assert.deepEqual(await p.locationsOf('a'), [at(2)]);
  });
});

describe('organizationID, the older name of groupID', () => {
  test('organizationID, the older name of groupID, names the same groups', async () => {
    const p = await presence();
    expectDone(await p.project.put('/v1/users/a/presence', { organizationID: 'g', location: page(1) }));
    assert.deepEqual(await p.ephemeral(), { a: [page(1)] });
  });

  test('organizationID of a group that does not exist is organization_not_found', async () => {
    const p = await presence();
    const body = { organizationID: 'nowhere', location: page(1) };
    expectNotFound(await p.project.put('/v1/users/a/presence', body), 'organization_not_found', 'nowhere');
  });
});
