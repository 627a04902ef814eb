import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectNotFound, expectRefused } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { type Place, Presence, sorted } from '../support/presence-client.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
const TTL_MS = 30_000;

/** A project in which a, b and c are members of the groups g and h, and x of none. */
async function presence(from = server): Promise<Presence> {
  const project = await from.project();
  await project.seed({
    users: ['a', 'b', 'c', 'x'].map((id) => ({ id })),
    groups: ['g', 'h'].map((id) => ({ id, name: id, members: ['a', 'b', 'c'] })),
  });
  return new Presence(project);
}

const page = (number: number, more: Place = {}): Place => ({ page: String(number), ...more });

describe('PUT /v1/users/<USER_ID>/presence', () => {
  test('sets the user present at the location, and the message names the user', async () => {
    const p = await presence();
    expectDone(await p.put('a', { location: page(1) }), 'a');
    assert.deepEqual(await p.everyone(), [{ id: 'a', ephemeral: { locations: [page(1)] } }]);
  });

  test('needs groupID and location', async () => {
    const p = await presence();
    const path = '/v1/users/a/presence';
    expectRefused(await p.project.put(path, {}), 400, 'missing_field', 'groupID', 'location');
    expectRefused(await p.project.put(path, { groupID: 'g' }), 400, 'missing_field', 'location');
    expectRefused(await p.project.put(path, { location: page(1) }), 400, 'missing_field', 'groupID');
  });

  test('of a user who does not exist, or is set deleted, is user_not_found', async () => {
    const p = await presence();
    expectNotFound(await p.put('nobody', { location: page(1) }), 'user_not_found', 'nobody');
    await p.project.seed({ users: [{ id: 'a', status: 'deleted' }] });
    for (const durable of [false, true]) {
      expectNotFound(await p.put('a', { location: page(1), durable }), 'user_not_found', 'a');
    }
  });

  test('in a group that does not exist, or is set deleted, is group_not_found', async () => {
    const p = await presence();
    expectNotFound(await p.put('a', { groupID: 'nowhere', location: page(1) }), 'group_not_found', 'nowhere');
    expectDone(await p.project.put('/v1/groups/g', { status: 'deleted' }));
    for (const durable of [false, true]) {
      expectNotFound(await p.put('a', { location: page(1), durable }), 'group_not_found', 'g');
    }
  });

  test('of who is no member is user_not_found, and the message says "not a member of group …"', async () => {
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

  test('a location is an object of 1 to 16 string keys with string values of up to 1,024 code points', async () => {
    const p = await presence();
    const pairs = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));
    const long = '🎉'.repeat(1_024);
    for (const location of [pairs(16), { [long]: long }, { k: '' }, { __proto__x: 'v' }, { k: 'Ü/%?' }]) {
      await p.set('a', location);
    }
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
      expectRefused(await p.put('a', { location }), 400, 'invalid_field', 'location');
  });

  test('a key named __proto__ or constructor is a key like any other', async () => {
    const p = await presence();
    const body = '{"groupID":"g","location":{"__proto__":"1","constructor":"2"}}';
    expectDone(await p.project.send('PUT', '/v1/users/a/presence', body));
    const { text } = await p.project.get('/v1/groups/g/presence');
    assert.match(text, /"__proto__":\s*"1"/);
    assert.match(text, /"constructor":\s*"2"/);
  });

  test('fields of another type are invalid_field', async () => {
    const p = await presence();
    const wrong = { groupID: 7, exclusiveWithin: 'page', durable: 'true', absent: 1 };
    for (const [field, value] of Object.entries(wrong)) {
      expectRefused(await p.put('a', { location: page(1), [field]: value }), 400, 'invalid_field', field);
      expectRefused(await p.put('a', { location: page(1), [field]: null }), 400, 'invalid_field', field);
    }
    for (const groupID of ['', 'a\0', 'x'.repeat(321)]) {
      expectRefused(await p.put('a', { groupID, location: page(1) }), 400, 'invalid_field', 'groupID');
    }
  });

  test('key order never matters', async () => {
    const p = await presence();
    await p.set('a', { page: '1', paragraph: '2' });
    await p.set('a', { paragraph: '2', page: '1' });
    assert.equal((await p.placesOf('a')).length, 1);
    await p.setAbsent('a', { paragraph: '2', page: '1' });
    assert.deepEqual(await p.everyone(), []);
  });

  test('location must match exclusiveWithin: every pair of it', async () => {
    const p = await presence();
    for (const exclusiveWithin of [page(2), page(1, { x: '1' }), { other: '1' }]) {
      expectRefused(
        await p.put('a', { location: page(1, { y: '1' }), exclusiveWithin }),
        400,
        'invalid_field',
      );
    }
    await p.set('a', page(1, { y: '1' }), { exclusiveWithin: page(1) });
    await p.set('b', page(1), { exclusiveWithin: page(1) });
  });

  test('absent with durable is invalid_field; false is as if it were omitted', async () => {
    const p = await presence();
    const refused = await p.put('a', { location: page(1), absent: true, durable: true });
    expectRefused(refused, 400, 'invalid_field', 'absent', 'durable');
    expectDone(await p.put('a', { location: page(1), absent: false, durable: false }));
    assert.deepEqual(await p.placesOf('a'), [page(1)]);
    expectDone(await p.put('a', { location: page(1), absent: true, durable: false }));
    assert.deepEqual(await p.everyone(), []);
  });
});

describe('ephemeral presence', () => {
  test('lives as long as the TTL after the update, and not a moment longer', async () => {
    const p = await presence();
    await p.set('a', page(1));
    clock.move(TTL_MS - 1);
    assert.deepEqual(await p.placesOf('a'), [page(1)]);
    clock.move(1);
    assert.deepEqual(await p.everyone(), []);
    assert.deepEqual(await p.entryOf('a'), { id: 'a', ephemeral: { locations: [] } });
  });

  test('lives on from its last update', async () => {
    const p = await presence();
    await p.set('a', page(1));
    for (let count = 0; count < 3; count += 1) {
      clock.move(TTL_MS - 1_000);
      await p.set('a', page(1));
    }
    clock.move(TTL_MS - 1);
    assert.deepEqual(await p.placesOf('a'), [page(1)]);
    clock.move(1);
    assert.deepEqual(await p.everyone(), []);
  });

  test('has deadlines of its own at each location', async () => {
    const p = await presence();
    await p.set('a', page(1));
    clock.move(TTL_MS / 2);
    await p.set('a', page(2));
    await p.set('b', page(1));
    clock.move(TTL_MS / 2);
    assert.deepEqual(await p.ephemeral(), { a: [page(2)], b: [page(1)] });
  });

  test('without exclusiveWithin the location is its own region, so a user can be at several', async () => {
    const p = await presence();
    await p.set('a', page(1));
    await p.set('a', page(2));
    await p.set('a', page(1, { x: '1' }));
    assert.deepEqual(sorted(await p.placesOf('a')), sorted([page(1), page(2), page(1, { x: '1' })]));
  });

  test('is of one group: the same place in another is another presence', async () => {
    const p = await presence();
    await p.set('a', page(1));
    expectDone(await p.put('a', { groupID: 'h', location: page(1) }));
    await p.setAbsent('a', page(1));
    assert.deepEqual(await p.ephemeral('h'), { a: [page(1)] });
    assert.deepEqual(await p.everyone(), []);
  });

  test('lives as long as ROLLCALL_PRESENCE_TTL_SECONDS says', async () => {
    const p = await presence(brief);
    await p.set('a', page(1));
    briefClock.move(4_999);
    assert.deepEqual(await p.placesOf('a'), [page(1)]);
    briefClock.move(1);
    assert.deepEqual(await p.everyone(), []);
  });
  const briefClock = new MovedClock();
  const brief = clockedServer({ clock: briefClock, settings: { presenceTtlSeconds: 5 } });
});

describe('exclusive presence', () => {
  const inBook = { exclusiveWithin: { book: 'A' } };
  const at = (chapter: number): Place => ({ book: 'A', chapter: String(chapter) });

  test('every update with the same exclusiveWithin moves the user from the previous location inside it', async () => {
    const p = await presence();
    for (const chapter of [1, 2, 3]) {
      await p.set('a', at(chapter), inBook);
      assert.deepEqual(await p.placesOf('a'), [at(chapter)]);
    }
  });

  test('moves only this user', async () => {
    const p = await presence();
    await p.set('a', at(1), inBook);
    await p.set('b', at(1), inBook);
    await p.set('b', at(2), inBook);
    assert.deepEqual(await p.ephemeral(), { a: [at(1)], b: [at(2)] });
  });

  test('moves only in this group', async () => {
    const p = await presence();
    await p.set('a', at(1), inBook);
    expectDone(await p.put('a', { groupID: 'h', location: at(2), ...inBook }));
    assert.deepEqual(await p.ephemeral('g'), { a: [at(1)] });
    assert.deepEqual(await p.ephemeral('h'), { a: [at(2)] });
  });

  test('moves only within the same value; its key order does not matter', async () => {
    const p = await presence();
    const place = (word: string): Place => ({ book: 'A', part: '1', word });
    await p.set('a', place('one'), { exclusiveWithin: { book: 'A' } });
    await p.set('a', place('two'), { exclusiveWithin: { book: 'A', part: '1' } });
    assert.equal((await p.placesOf('a')).length, 2);
    await p.set('a', place('three'), { exclusiveWithin: { part: '1', book: 'A' } });
    assert.deepEqual(sorted(await p.placesOf('a')), sorted([place('one'), place('three')]));
  });

  test('does not touch locations that were set without exclusiveWithin', async () => {
    const p = await presence();
    await p.set('a', at(1));
    await p.set('a', at(2), inBook);
    await p.set('a', at(3), inBook);
    assert.deepEqual(sorted(await p.placesOf('a')), sorted([at(1), at(3)]));
  });

  test('at a location held in two regions is read once, and ends when the last of them does', async () => {
    const p = await presence();
    await p.set('a', at(1));
    await p.set('a', at(1), inBook);
    assert.deepEqual(await p.placesOf('a'), [at(1)]);
    await p.set('a', at(2), inBook);
    assert.deepEqual(sorted(await p.placesOf('a')), sorted([at(1), at(2)]));
  });

  test('starts its life anew where it moves to', async () => {
    const p = await presence();
    await p.set('a', at(1), inBook);
    clock.move(TTL_MS - 1);
    await p.set('a', at(2), inBook);
    clock.move(TTL_MS - 1);
    assert.deepEqual(await p.placesOf('a'), [at(2)]);
  });
});

describe('absence', () => {
  const inBook = { exclusiveWithin: { book: 'A' } };
  const place: Place = { book: 'A', page: '1' };

  test('clears the presence at exactly that location', async () => {
    const p = await presence();
    for (const location of [{ book: 'A' }, place, { ...place, word: '1' }]) await p.set('a', location);
    await p.setAbsent('a', place);
    assert.deepEqual(sorted(await p.placesOf('a')), sorted([{ book: 'A' }, { ...place, word: '1' }]));
  });

  test('clears it whichever region it was set in', async () => {
    const p = await presence();
    await p.set('a', place);
    await p.set('a', place, inBook);
    await p.set('a', place, { exclusiveWithin: { page: '1' } });
    await p.setAbsent('a', place);
    assert.deepEqual(await p.everyone(), []);
  });

  test('of who is not present there succeeds and has no effect', async () => {
    const p = await presence();
    await p.setAbsent('a', place);
    await p.set('a', place);
    await p.setAbsent('a', { book: 'A', page: '2' });
    await p.setAbsent('b', place);
    assert.deepEqual(await p.ephemeral(), { a: [place] });
  });

  test('does not undo what comes after it', async () => {
    const p = await presence();
    await p.set('a', place, inBook);
    await p.setAbsent('a', place);
    await p.set('a', place, inBook);
    assert.deepEqual(await p.placesOf('a'), [place]);
  });

  test('leaves durable presence as it is', async () => {
    const p = await presence();
    await p.set('a', place, { durable: true });
    await p.set('a', place);
    await p.setAbsent('a', place);
    const [entry] = await p.everyone();
    assert.deepEqual(entry?.ephemeral.locations, []);
    assert.deepEqual(entry?.durable?.location, place);
  });
});

describe('durable presence', () => {
  const durable = { durable: true };

  test('is the location with the time of the last update', async () => {
    const p = await presence();
    await p.set('a', page(1), durable);
    const entry = {
      id: 'a',
      ephemeral: { locations: [] },
      durable: { location: page(1), timestamp: new Date(clock.now()).toISOString() },
    };
    assert.deepEqual(await p.everyone(), [entry]);
    assert.deepEqual(await p.entryOf('a'), entry);
  });

  test('is kept when an ephemeral one would have ended', async () => {
    const p = await presence();
    await p.set('a', page(1), durable);
    clock.move(TTL_MS * 1_000);
    assert.deepEqual((await p.everyone())[0]?.durable?.location, page(1));
  });

  test('has the time of the last update, also when that names the same place', async () => {
    const p = await presence();
    await p.set('a', page(1), durable);
    clock.move(5_000);
    await p.set('a', page(1), durable);
    assert.equal((await p.everyone())[0]?.durable?.timestamp, new Date(clock.now()).toISOString());
  });

  test('shows the latest of several regions', async () => {
    const p = await presence();
    for (const number of [1, 2]) {
      await p.set('a', page(number), durable);
      clock.move(1_000);
    }
    assert.deepEqual((await p.entryOf('a')).durable?.location, page(2));
    await p.set('a', page(1), durable);
    assert.deepEqual((await p.entryOf('a')).durable?.location, page(1));
  });

  test('is replaced within its exclusive region', async () => {
    const p = await presence();
    const within = { durable: true, exclusiveWithin: { book: 'A' } };
    const at = (chapter: string): Place => ({ book: 'A', chapter });
    await p.set('a', at('1'), within);
    clock.move(1_000);
    await p.set('a', at('2'), within);
    const exactly = async (place: Place) => (await p.page({ location: JSON.stringify(place) })).users;
    assert.deepEqual(await exactly(at('1')), []);
    assert.deepEqual((await exactly(at('2')))[0]?.durable?.location, at('2'));
  });

  test('and ephemeral presence are each a space of its own: neither moves the other', async () => {
    const p = await presence();
    const exclusiveWithin = { book: 'A' };
    const at = (chapter: string): Place => ({ book: 'A', chapter });
    await p.set('a', at('1'), { exclusiveWithin });
    await p.set('a', at('2'), { exclusiveWithin, durable: true });
    let entry = await p.entryOf('a');
    assert.deepEqual([entry.ephemeral.locations, entry.durable?.location], [[at('1')], at('2')]);
    await p.set('a', at('3'), { exclusiveWithin });
    entry = await p.entryOf('a');
    assert.deepEqual([entry.ephemeral.locations, entry.durable?.location], [[at('3')], at('2')]);
  });
});

describe('a user who is set deleted', () => {
  test('disappears from every presence reading at once', async () => {
    const p = await presence();
    await p.set('a', page(1));
    await p.set('a', page(2), { durable: true });
    await p.set('b', page(1));
    await p.project.seed({ users: [{ id: 'a', status: 'deleted' }] });
    const location = JSON.stringify({ page: '1' });
    for (const query of [{}, { location }, { location, partial_match: 'true' }]) {
      assert.deepEqual(
        (await p.page(query)).users.map(({ id }) => id),
        ['b'],
      );
    }
    const { text } = await p.project.get('/v1/users/a/presence?groupID=g');
    assert.ok(!text.includes('"page"'), text);
  });

  test('reappears, when set active again, where what was there has not expired', async () => {
    const p = await presence();
    await p.set('a', page(1));
    clock.move(20_000);
    await p.set('a', page(2));
    await p.set('a', page(3), { durable: true });
    await p.project.seed({ users: [{ id: 'a', status: 'deleted' }] });
    clock.move(20_000);
    assert.deepEqual(await p.everyone(), []);
    expectDone(await p.project.put('/v1/users/a', { status: 'active' }));
    const entry = await p.entryOf('a');
    assert.deepEqual([entry.ephemeral.locations, entry.durable?.location], [[page(2)], page(3)]);
  });
});

describe('leaving or deleting a group clears presence in it', () => {
  const WAYS: readonly [string, (p: Presence) => Promise<unknown>, (p: Presence) => Promise<unknown>][] = [
    [
      'removed by POST members',
      (p) => p.project.post('/v1/groups/g/members', { remove: ['a'] }),
      (p) => p.project.post('/v1/groups/g/members', { add: ['a'] }),
    ],
    [
      'left out of an exhaustive list',
      (p) => p.project.put('/v1/groups/g', { members: ['b', 'c'] }),
      (p) => p.project.put('/v1/groups/g', { members: ['a', 'b', 'c'] }),
    ],
    [
      'left out by a batch',
      (p) => p.project.seed({ groups: [{ id: 'g', members: ['b', 'c'] }] }),
      (p) => p.project.seed({ groups: [{ id: 'g', members: ['a', 'b', 'c'] }] }),
    ],
    [
      'gone with the group',
      (p) => p.project.delete('/v1/groups/g'),
      (p) => p.project.put('/v1/groups/g', { name: 'G', members: ['a', 'b', 'c'] }),
    ],
    [
      'deleted for good',
      (p) => p.project.delete('/v1/users/a'),
      (p) => p.project.seed({ users: [{ id: 'a' }], groups: [{ id: 'g', members: ['a', 'b', 'c'] }] }),
    ],
  ];
  for (const [title, leave, comeBack] of WAYS) {
    test(`a member who is ${title} is gone from the readings, and coming back does not bring it back`, async () => {
      const p = await presence();
      await p.set('a', page(1));
      await p.set('a', page(2), { exclusiveWithin: { page: '2' } });
      await p.set('a', page(3), { durable: true });
      expectDone(await p.put('a', { groupID: 'h', location: page(1) }));
      await leave(p);
      const { text } = await p.project.get('/v1/groups/g/presence');
      assert.ok(!text.includes('"a"'), text);
      await comeBack(p);
      assert.deepEqual(await p.everyone(), []);
      const still = title === 'deleted for good' ? {} : { a: [page(1)] };
      assert.deepEqual(await p.ephemeral('h'), still, 'the other group');
    });
  }

  test('the members who stay keep theirs', async () => {
    const p = await presence();
    for (const id of ['a', 'b']) await p.set(id, page(1));
    await p.project.put('/v1/groups/g', { members: ['b'] });
    assert.deepEqual(await p.ephemeral(), { b: [page(1)] });
  });
});

describe('organizationID, the older name of groupID', () => {
  test('names the same groups', async () => {
    const p = await presence();
    expectDone(await p.project.put('/v1/users/a/presence', { organizationID: 'g', location: page(1) }));
    assert.deepEqual(await p.ephemeral(), { a: [page(1)] });
  });

  test('of a group that does not exist is organization_not_found', async () => {
    const p = await presence();
    const body = { organizationID: 'nowhere', location: page(1) };
    expectNotFound(await p.project.put('/v1/users/a/presence', body), 'organization_not_found', 'nowhere');
  });
});
