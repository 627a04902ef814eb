import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiDescription } from '../http/api-description.ts';
import { clockedServer } from '../support/clocked-server.ts';
import { expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { type Location, Presence, sorted } from '../support/presence-client.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });

async function presence(...ids: string[]): Promise<Presence> {
  const project = await server.project();
  await project.seed({
    users: ids.map((id) => ({ id })),
    groups: [
      { id: 'g', name: 'G', members: ids },
      { id: 'h', name: 'H', members: ids },
      { id: 'empty', name: 'E' },
    ],
  });
  return new Presence(project);
}

const BOOK: Location = { book: 'A' };
const CHAPTER: Location = { book: 'A', chapter: '1' };
const WORD: Location = { book: 'A', chapter: '1', word: 'x' };

/** a at the book, b at the chapter, c at the word, d at another book; e durably at the chapter. */
async function library(): Promise<Presence> {
  const p = await presence('a', 'b', 'c', 'd', 'e');
  await p.set('a', BOOK);
  await p.set('b', CHAPTER);
  await p.set('c', WORD);
  await p.set('d', { book: 'B' });
  await p.set('e', CHAPTER, { durable: true });
  return p;
}

const idsOf = async (p: Presence, query: Record<string, string> = {}) =>
  (await p.page(query)).users.map(({ id }) => id);

describe('GET /v1/groups/<ID>/presence', () => {
  test('GET /v1/groups/<ID>/presence without location answers everyone present in the group, in order of ID', async () => {
    const p = await library();
    assert.deepEqual(await idsOf(p), ['a', 'b', 'c', 'd', 'e']);
  });

  test('GET /v1/groups/<ID>/presence of a group without present users is an empty list and no token', async () => {
    const p = await presence('a');
    for (const group of ['g', 'empty']) {
      assert.deepEqual(await p.page({}, group), { users: [], pagination: { token: null } });
    }
  });

  test('GET /v1/groups/<ID>/presence with location lists the users at exactly that location', async () => {
    const p = await library();
    assert.deepEqual(await idsOf(p, { location: JSON.stringify(CHAPTER) }), ['b', 'e']);
    assert.deepEqual(await idsOf(p, { location: '{"chapter":"1","book":"A"}' }), ['b', 'e']);
    assert.deepEqual(await idsOf(p, { location: JSON.stringify(CHAPTER), partial_match: 'false' }), [
      'b',
      'e',
    ]);
    assert.deepEqual(await idsOf(p, { location: '{"book":"C"}' }), []);
  });

  test('GET /v1/groups/<ID>/presence with partial_match also lists users at locations that match', async () => {
    const p = await library();
    const matching = (location: Location) =>
      idsOf(p, { location: JSON.stringify(location), partial_match: 'true' });
    assert.deepEqual(await matching(BOOK), ['a', 'b', 'c', 'e']);
    assert.deepEqual(await matching(CHAPTER), ['b', 'c', 'e']);
    assert.deepEqual(await matching(WORD), ['c']);
    assert.deepEqual(await matching({ chapter: '1' }), ['b', 'c', 'e']);
    assert.deepEqual(await matching({ book: '' }), []);
  });

  test('GET /v1/groups/<ID>/presence shows of each user the locations that pass the filter', async () => {
    const p = await presence('a');
    for (const location of [BOOK, CHAPTER, WORD, { book: 'B' }]) await p.set('a', location);
    const locationsAt = async (query: Record<string, string>) =>
      sorted((await p.page(query)).users[0]?.ephemeral.locations ?? []);
    assert.deepEqual(await locationsAt({}), sorted([BOOK, CHAPTER, WORD, { book: 'B' }]));
    assert.deepEqual(await locationsAt({ location: JSON.stringify(CHAPTER) }), [CHAPTER]);
    const partial = { location: JSON.stringify(CHAPTER), partial_match: 'true' };
    assert.deepEqual(await locationsAt(partial), sorted([CHAPTER, WORD]));
  });

  test('GET /v1/groups/<ID>/presence with exclude_durable leaves out durable presence, and users who have no other', async () => {
    const p = await library();
    await p.set('a', BOOK, { durable: true });
    const { users } = await p.page({ exclude_durable: 'true' });
    assert.deepEqual(
      users.map(({ id }) => id),
      ['a', 'b', 'c', 'd'],
    );
    assert.ok(users.every((entry) => !('durable' in entry)));
    assert.deepEqual(await idsOf(p, { exclude_durable: 'false' }), ['a', 'b', 'c', 'd', 'e']);
  });

  test('durable of an entry is the latest location that matches the filter', async () => {
    const p = await presence('a');
    await p.set('a', CHAPTER, { durable: true });
    clock.move(1_000);
    await p.set('a', { book: 'B' }, { durable: true });
    const durableAt = async (query: Record<string, string>) =>
      (await p.page(query)).users[0]?.durable?.location;
    assert.deepEqual(await durableAt({}), { book: 'B' });
    assert.deepEqual(await durableAt({ location: JSON.stringify(CHAPTER) }), CHAPTER);
    assert.deepEqual(await durableAt({ location: JSON.stringify(BOOK), partial_match: 'true' }), CHAPTER);
    assert.equal(await durableAt({ location: JSON.stringify(BOOK) }), undefined);
  });

  test('an entry of presence has exactly id, ephemeral and, where the user has one, durable', async () => {
    const p = await library();
    await p.set('a', BOOK, { durable: true });
    for (const entry of await p.everyone()) {
      const keys = ['a', 'e'].includes(entry.id) ? ['durable', 'ephemeral', 'id'] : ['ephemeral', 'id'];
      assert.deepEqual(Object.keys(entry).sort(), keys);
      assert.deepEqual(Object.keys(entry.ephemeral), ['locations']);
    }
  });

  test('GET /v1/groups/<ID>/presence pages through all users, each once, ephemerally present or durably or both', async () => {
    const ids = Array.from({ length: 23 }, (_, index) => `u${String(index).padStart(2, '0')}`);
    const p = await presence(...ids);
    for (const [index, id] of ids.entries()) {
      if (index % 2 === 0) await p.set(id, CHAPTER);
      if (index % 3 === 0 || index % 2 === 1) await p.set(id, CHAPTER, { durable: true });
    }
    for (const query of [
      {},
      { location: JSON.stringify(CHAPTER) },
      { location: JSON.stringify(BOOK), partial_match: 'true' },
    ]) {
      for (const limit of [1, 7, 23, 24])
        assert.deepEqual(await readAll(p, { ...query, limit: String(limit) }), ids);
    }
  });

  test('no user appears twice or vanishes between pages of presence while others arrive and leave', async () => {
    const p = await presence('a', 'b', 'c', 'd', 'e', 'f');
    for (const id of ['b', 'd', 'f']) await p.set(id, CHAPTER);
    const first = await p.page({ limit: '2' });
    assert.deepEqual(
      first.users.map(({ id }) => id),
      ['b', 'd'],
    );
    await p.set('a', CHAPTER);
    await p.set('e', CHAPTER);
    await p.setAbsent('d', CHAPTER);
    const second = await p.page({ limit: '2', token: first.pagination.token ?? '' });
    assert.deepEqual(
      second.users.map(({ id }) => id),
      ['e', 'f'],
    );
    assert.equal(second.pagination.token, null);
  });

  test('GET /v1/groups/<ID>/presence skips users with status deleted, and the page still has its token', async () => {
    const p = await presence('a', 'b', 'c', 'd');
    for (const id of ['a', 'b', 'c', 'd']) await p.set(id, CHAPTER);
    await p.project.seed({ users: ['a', 'b', 'c'].map((id) => ({ id, status: 'deleted' as const })) });
    assert.deepEqual(await readAll(p, { limit: '1' }), ['d']);
  });

  test('a page token of presence is valid only for its group', async () => {
    const p = await presence('a', 'b');
    for (const id of ['a', 'b']) await p.set(id, CHAPTER);
    const { token } = (await p.page({ limit: '1' })).pagination;
    expectError(await p.project.get(`/v1/groups/h/presence?token=${token}`), 400, 'invalid_field', 'token');
    expectError(await p.project.get(`/v1/groups/g/members?token=${token}`), 400, 'invalid_field', 'token');
  });

  test('GET /v1/groups/<ID>/presence with count_only answers how many all pages would list', async () => {
    const p = await library();
    await p.project.seed({ users: [{ id: 'd', status: 'deleted' }] });
    const api = await ApiDescription.of(p.project.url);
    const count = async (query: Record<string, string>) => {
      const answer = await p.project.get(
        `/v1/groups/g/presence?${new URLSearchParams({ ...query, count_only: 'true' })}`,
      );
      api.expectDescribed(api.operation('listGroupPresence'), answer);
      return expectOk(answer);
    };
    assert.deepEqual(await count({}), { count: 4 });
    assert.deepEqual(await count({ exclude_durable: 'true' }), { count: 3 });
    assert.deepEqual(await count({ location: JSON.stringify(CHAPTER) }), { count: 2 });
    assert.deepEqual(await count({ location: JSON.stringify(BOOK), partial_match: 'true' }), { count: 4 });
    assert.deepEqual(await count({ location: '{"book":"C"}' }), { count: 0 });
    assert.deepEqual(await idsOf(p, { count_only: 'false', limit: '2' }), ['a', 'b']);
    expectNotFound(
      await p.project.get('/v1/groups/nowhere/presence?count_only=true'),
      'group_not_found',
      'nowhere',
    );
  });

  test('count_only counts more users than one page of presence has', async () => {
    const ids = Array.from({ length: 2_100 }, (_, index) => `u${index}`);
    const p = await presence(...ids);
    for (const start of [0, 1_000, 2_000]) {
      const updates = ids
        .slice(start, start + 1_000)
        .map((userID, index) => ({ userID, groupID: 'g', location: BOOK, durable: index % 3 === 0 }));
      expectOk(await p.project.put('/v1/presence', { updates }));
    }
    const answer = await p.project.get('/v1/groups/g/presence?count_only=true');
    assert.deepEqual(expectOk(answer), { count: ids.length });
  });

  test('count_only together with limit or token is invalid_field', async () => {
    const p = await presence('a', 'b');
    for (const id of ['a', 'b']) await p.set(id, CHAPTER);
    const { token } = (await p.page({ limit: '1' })).pagination;
    for (const query of ['limit=1', `token=${token}`]) {
      const answer = await p.project.get(`/v1/groups/g/presence?count_only=true&${query}`);
      expectError(answer, 400, 'invalid_field', 'count_only');
    }
  });

  test('GET /v1/groups/<ID>/presence of a group that does not exist is group_not_found', async () => {
    const p = await presence('a');
    expectNotFound(await p.project.get('/v1/groups/nowhere/presence'), 'group_not_found', 'nowhere');
  });

  test('a location parameter that is no location is invalid_field', async () => {
    const p = await presence('a');
    for (const location of [
      '',
      'x',
      '{',
      '[]',
      '"a"',
      'null',
      '7',
      '{}',
      '{"a":1}',
      '{"a":null}',
      '{"a":"1"}}',
      `{"a":"${'x'.repeat(1_025)}"}`,
    ]) {
      const path = `/v1/groups/g/presence?location=${encodeURIComponent(location)}`;
      expectError(await p.project.get(path), 400, 'invalid_field', 'location');
    }
  });

  test('partial_match, exclude_durable and count_only are true or false', async () => {
    const p = await presence('a');
    for (const name of ['partial_match', 'exclude_durable', 'count_only']) {
      for (const value of ['', '1', 'yes', 'TRUE', 'null']) {
        expectError(
          await p.project.get(`/v1/groups/g/presence?${name}=${value}`),
          400,
          'invalid_field',
          name,
        );
      }
    }
  });
});

describe('GET /v1/users/<USER_ID>/presence', () => {
  test('GET /v1/users/<USER_ID>/presence answers one entry, as the group reading has it', async () => {
    const p = await library();
    await p.set('b', WORD);
    await p.set('b', BOOK, { durable: true });
    const inGroup = (await p.everyone()).find(({ id }) => id === 'b');
    assert.deepEqual(await p.entryOf('b'), inGroup);
  });

  test('GET /v1/users/<USER_ID>/presence of a member who is not present is an entry without locations', async () => {
    const p = await presence('a');
    assert.deepEqual(await p.entryOf('a'), { id: 'a', ephemeral: { locations: [] } });
  });

  test('GET /v1/users/<USER_ID>/presence is about the group of groupID only', async () => {
    const p = await presence('a');
    await p.set('a', CHAPTER);
    assert.deepEqual(await p.entryOf('a', 'h'), { id: 'a', ephemeral: { locations: [] } });
  });

  test('GET /v1/users/<USER_ID>/presence needs groupID', async () => {
    const p = await presence('a');
    expectError(await p.project.get('/v1/users/a/presence'), 400, 'missing_field', 'groupID');
    for (const groupID of ['', '%00']) {
      expectError(
        await p.project.get(`/v1/users/a/presence?groupID=${groupID}`),
        400,
        'invalid_field',
        'groupID',
      );
    }
    expectError(
      await p.project.get('/v1/users/a/presence?groupID=g&groupID=h'),
      400,
      'invalid_field',
      'groupID',
    );
    expectError(
      await p.project.get('/v1/users/a/presence?groupID=g&limit=1'),
      400,
      'unexpected_field',
      'limit',
    );
  });

  test('GET /v1/users/<USER_ID>/presence of an unknown user or group is user_not_found or group_not_found', async () => {
    const p = await presence('a');
    expectNotFound(await p.project.get('/v1/users/nobody/presence?groupID=g'), 'user_not_found', 'nobody');
    expectNotFound(await p.project.get('/v1/users/a/presence?groupID=nowhere'), 'group_not_found', 'nowhere');
  });
});

/** The IDs of all pages, following the tokens. */
async function readAll(p: Presence, query: Record<string, string>): Promise<string[]> {
  const ids: string[] = [];
  let token: string | null = null;
  let pages = 0;
  do {
    const page = await p.page(token === null ? query : { ...query, token });
    ids.push(...page.users.map(({ id }) => id));
    token = page.pagination.token;
    pages += 1;
    assert.ok(pages < 100, 'the pages never end');
  } while (token !== null);
  return ids;
}

test('the two presence readings need no body, and ignore one', async () => {
  const p = await presence('a');
  expectOk(await p.project.send('GET', '/v1/groups/g/presence', '{'));
});
