import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { type Location, Presence, pageLocation as page, sorted } from '../support/presence-client.ts';
import { until } from '../support/waiting.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
const TTL_MS = 30_000;

const presence = (from = server) => Presence.inNewProject(from);

describe('absence', () => {
  const inBook = { exclusiveWithin: { book: 'A' } };
  const bookPage: Location = { book: 'A', page: '1' };

  test('absence clears the presence at exactly that location', async () => {
    const p = await presence();
    for (const location of [{ book: 'A' }, bookPage, { ...bookPage, word: '1' }]) await p.set('a', location);
    await p.setAbsent('a', bookPage);
    assert.deepEqual(sorted(await p.locationsOf('a')), sorted([{ book: 'A' }, { ...bookPage, word: '1' }]));
  });

  test('absence clears the presence at a location, whichever region it was set in', async () => {
    const p = await presence();
    await p.set('a', bookPage);
    await p.set('a', bookPage, inBook);
    await p.set('a', bookPage, { exclusiveWithin: { page: '1' } });
    await p.setAbsent('a', bookPage);
    assert.deepEqual(await p.everyone(), []);
  });

  test('the absence of a user who is not present there succeeds and has no effect', async () => {
    const p = await presence();
    await p.setAbsent('a', bookPage);
    await p.set('a', bookPage);
    await p.setAbsent('a', { book: 'A', page: '2' });
    await p.setAbsent('b', bookPage);
    assert.deepEqual(await p.ephemeral(), { a: [bookPage] });
  });

  test('absence does not affect later updates', async () => {
    const p = await presence();
    await p.set('a', bookPage, inBook);
    await p.setAbsent('a', bookPage);
    await p.set('a', bookPage, inBook);
    assert.deepEqual(await p.locationsOf('a'), [bookPage]);
  });

  test('absence leaves durable presence as it is', async () => {
    const p = await presence();
    await p.set('a', bookPage, { durable: true });
    await p.set('a', bookPage);
    await p.setAbsent('a', bookPage);
    const [entry] = await p.everyone();
    assert.deepEqual(entry?.ephemeral.locations, []);
    assert.deepEqual(entry?.durable?.location, bookPage);
  });
});

describe('durable presence', () => {
  const durable = { durable: true };

  test('durable presence is the location with the time of the last update', async () => {
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

  test('durable presence stays when the time of an ephemeral one has passed', async () => {
    const p = await presence();
    await p.set('a', page(1), durable);
    clock.move(TTL_MS * 10);
    assert.deepEqual((await p.everyone())[0]?.durable?.location, page(1));
  });

  test('durable presence has the time of the last update, also when that has the same location', async () => {
    const p = await presence();
    await p.set('a', page(1), durable);
    clock.move(5_000);
    await p.set('a', page(1), durable);
    assert.equal((await p.everyone())[0]?.durable?.timestamp, new Date(clock.now()).toISOString());
  });

  test('durable presence shows the latest of several regions', async () => {
    const p = await presence();
    for (const number of [1, 2]) {
      await p.set('a', page(number), durable);
      clock.move(1_000);
    }
    assert.deepEqual((await p.entryOf('a')).durable?.location, page(2));
    await p.set('a', page(1), durable);
    assert.deepEqual((await p.entryOf('a')).durable?.location, page(1));
  });

  test('durable presence is replaced within its exclusive region', async () => {
    const p = await presence();
    const within = { durable: true, exclusiveWithin: { book: 'A' } };
    const at = (chapter: string): Location => ({ book: 'A', chapter });
    await p.set('a', at('1'), within);
    clock.move(1_000);
    await p.set('a', at('2'), within);
    const exactly = async (location: Location) =>
      (await p.page({ location: JSON.stringify(location) })).users;
    assert.deepEqual(await exactly(at('1')), []);
    assert.deepEqual((await exactly(at('2')))[0]?.durable?.location, at('2'));
  });

  test('durable presence and ephemeral presence are each a space of its own: neither moves the other', async () => {
    const p = await presence();
    const exclusiveWithin = { book: 'A' };
    const at = (chapter: string): Location => ({ book: 'A', chapter });
    await p.set('a', at('1'), { exclusiveWithin });
    await p.set('a', at('2'), { exclusiveWithin, durable: true });
    let entry = await p.entryOf('a');
    assert.deepEqual([entry.ephemeral.locations, entry.durable?.location], [[at('1')], at('2')]);
    await p.set('a', at('3'), { exclusiveWithin });
    entry = await p.entryOf('a');
    assert.deepEqual([entry.ephemeral.locations, entry.durable?.location], [[at('3')], at('2')]);
  });
});

describe('a user with status deleted', () => {
  test('a user with status deleted disappears from every presence reading at once', async () => {
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

  test('a user who is set active again reappears at the locations that have not expired', async () => {
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
    test(`a member who is ${title} is in no reading of presence, also when they are a member again`, async () => {
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

  test('the presence of other members stays when a member leaves the group', async () => {
    const p = await presence();
    for (const id of ['a', 'b']) await p.set(id, page(1));
    await p.project.put('/v1/groups/g', { members: ['b'] });
    assert.deepEqual(await p.ephemeral(), { b: [page(1)] });
  });
});

test('ephemeral presence ends after its time to live also where the clock is set back by an hour meanwhile', async () => {
  const HOUR_MS = 3_600_000;
  const p = await presence();
  clock.jump(HOUR_MS);
  await p.set('a', page(1));
  clock.move(1_000);
  clock.jump(-HOUR_MS);
  const setBackAt = clock.now();
  await until('the end of the presence', async () => {
    clock.move(1_000);
    return (await p.everyone()).length === 0;
  });
  assert.ok(clock.now() < setBackAt + HOUR_MS / 2);
});
