import assert from 'node:assert/strict';
import { get } from 'node:http';
import { describe, test } from 'node:test';
import { buildIds } from '../support/build.ts';
import { expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { CONVERSATION_LISTS, LISTS, readEnvelope, readLinked, readThrough } from '../support/paged-lists.ts';

const server = oneServer();
const readUsers = readEnvelope('users');

const SEVEN = buildIds('e', 7);

for (const list of LISTS) {
  describe(`pages of ${list.name}`, () => {
    test(`${list.name}: every limit from 1 to the length and beyond gives each entry once, in one order`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      for (let limit = 1; limit <= SEVEN.length + 1; limit += 1) {
        const pages = await readThrough(project, list, limit);
        assert.deepEqual(pages.flat(), SEVEN, `limit=${limit}`);
        assert.equal(pages.length, Math.ceil(SEVEN.length / limit), `limit=${limit}`);
      }
    });

    test(`${list.name}: entries added and removed between pages make no other entry appear twice or vanish`, async () => {
      const project = await server.project();
      const staying = buildIds('m', 9);
      const leaving = staying.map((id) => `${id}-leaves`);
      await list.add(project, [...staying, ...leaving]);
      const seen = await readThrough(project, list, 4, async ({ ids }, number) => {
        const last = String(ids.at(-1));
        // The entry at the end of the page is removed, or the one after it; others are added before and after both.
        const goes = leaving.includes(last) ? last : `${last}-leaves`;
        await list.add(project, [`a-came-${number}`, `${last}-came`, `z-came-${number}`]);
        if (leaving.includes(goes)) expectOk(await list.remove(project, goes));
      });
      const ids = seen.flat();
      assert.deepEqual(
        ids.filter((id) => staying.includes(id)),
        staying,
      );
      assert.equal(new Set(ids).size, ids.length, `twice: ${ids}`);
    });

    test(`${list.name}: pages list IDs of every kind in one order`, async () => {
      const project = await server.project();
      const ids = [
        'A',
        'a',
        'B',
        'b',
        'é',
        'e\u0301',
        '%',
        '%2F',
        '_',
        "'",
        '"',
        '/',
        '..',
        ' ',
        '+',
        '&token=',
        '中',
        '\uff5e',
        '\ufffd',
        '😀',
        '𐀀',
        'x'.repeat(320),
        '😀'.repeat(320),
      ];
      await list.add(project, ids);
      const [whole = []] = await readThrough(project, list, 100);
      assert.deepEqual(new Set(whole), new Set(ids));
      for (const limit of [1, 3]) assert.deepEqual((await readThrough(project, list, limit)).flat(), whole);
    });

    for (const limit of [
      '0',
      '-1',
      String(list.maxLimit + 1),
      '99999999999999999999',
      '1.5',
      '1e3',
      'ten',
      '',
      '%20',
      '+5',
      '0x10',
      '5&limit=5',
      '%D9%A1',
      'NaN',
    ]) {
      test(`${list.name}: limit=${limit} is invalid_field, and the message has the expected range`, async () => {
        const project = await server.project();
        await list.add(project, SEVEN);
        const answer = await list.get(project, `${list.path}?limit=${limit}`);
        expectError(answer, 400, 'invalid_field', 'limit', `from 1 to ${list.maxLimit}`);
      });
    }

    test(`${list.name}: the largest limit is ${list.maxLimit}`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      const answer = await list.get(project, `${list.path}?limit=${list.maxLimit}`);
      assert.deepEqual(list.read(answer, list.path).ids, SEVEN);
    });

    test(`${list.name}: an unknown query parameter is unexpected_field, and the message lists the expected ones`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      for (const query of [
        'offset=2',
        'limit=2&page=2',
        'Limit=2',
        'constructor=1',
        '__proto__=1',
        'toString=1',
        'hasOwnProperty=1',
        '__proto__%5Blimit%5D=1',
        'limit%5B%5D=1',
      ]) {
        const answer = await list.get(project, `${list.path}?${query}`);
        expectError(answer, 400, 'unexpected_field', 'limit', 'token');
      }
    });
  });
}

describe('pages of threads and messages without a limit', () => {
  for (const list of CONVERSATION_LISTS) {
    test(`the default page of ${list.name} is 50 entries`, async () => {
      const project = await server.project();
      const ids = buildIds('e', 51);
      await list.add(project, ids);
      const first = list.read(await list.get(project, list.path), list.path);
      assert.deepEqual(first.ids, ids.slice(0, 50));
      const last = list.read(await list.get(project, String(first.next)), list.path);
      assert.deepEqual([last.ids, last.next], [ids.slice(50), null]);
    });
  }
});

describe('GET /v1/groups', () => {
  test('GET /v1/groups answers an array of exactly id, name, status, metadata and connectedToMessenger', async () => {
    const project = await server.project();
    await project.seed({
      users: [{ id: 'u' }],
      groups: [
        { id: 'b', name: 'Bb', status: 'deleted' },
        { id: 'a', name: 'Aa', members: ['u'], metadata: { plan: ['gold'] } },
      ],
    });
    assert.deepEqual(expectOk(await project.get('/v1/groups')), [
      { id: 'a', name: 'Aa', status: 'active', metadata: { plan: ['gold'] }, connectedToMessenger: false },
      { id: 'b', name: 'Bb', status: 'deleted', metadata: {}, connectedToMessenger: false },
    ]);
  });

  test('GET /v1/groups of a project without groups is an empty array, and has no Link', async () => {
    const project = await server.project();
    for (const path of ['/v1/groups', '/v1/groups?limit=5']) {
      const answer = await project.get(path);
      assert.deepEqual(expectOk(answer), []);
      assert.equal(answer.headers.link, undefined);
    }
  });

  test('GET /v1/groups without a limit streams several thousand groups as one array, each once and in order', async () => {
    const project = await server.project();
    const ids = buildIds('g', 5_000);
    for (let start = 0; start < ids.length; start += 1_000) {
      const groups = ids
        .slice(start, start + 1_000)
        .map((id) => ({ id, name: `Group ${id}`, metadata: { id } }));
      await project.seed({ groups });
    }
    const answer = await project.get('/v1/groups');
    const groups = expectOk<{ id: string; metadata: unknown }[]>(answer);
    assert.deepEqual(
      groups.map(({ id }) => id),
      ids,
    );
    assert.ok(groups.every(({ id, metadata }) => (metadata as { id: string }).id === id));
    assert.equal(answer.headers['transfer-encoding'], 'chunked');
    assert.equal(answer.headers.link, undefined);
  });

  test('a client that disconnects within GET /v1/groups does not disturb other requests', async () => {
    const project = await server.project();
    const metadata = { filler: 'x'.repeat(4_000) };
    await project.seed({ groups: buildIds('g', 1_000).map((id) => ({ id, name: id, metadata })) });
    const { url, token } = project;
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const request = get(`${url}/v1/groups`, { headers }, (incoming) => {
        incoming.once('data', () => request.destroy());
        incoming.once('close', resolve);
        // The test itself breaks the connection.
        incoming.once('error', () => {});
      });
      request.once('error', reject);
    });
    assert.equal((await project.groups()).length, 1_000);
  });

  test('GET /v1/groups without a limit while batches change every group shows exactly one batch', async () => {
    const project = await server.project();
    const ids = buildIds('g', 1_000);
    const batch = (mark: number) =>
      project.seed({ groups: ids.map((id) => ({ id, name: `${mark}`, metadata: { mark } })) });
    await batch(0);
    let isOver = false;
    const write = async () => {
      for (let mark = 1; mark <= 10; mark += 1) await batch(mark);
      isOver = true;
    };
    const read = async () => {
      while (!isOver) {
        const groups = await project.groups();
        const marks = groups.flatMap(({ name, metadata }) => [name, String(metadata.mark)]);
        assert.equal(groups.length, ids.length);
        assert.equal(new Set(marks).size, 1, `one list shows the batches ${[...new Set(marks)]}`);
      }
    };
    await Promise.all([write(), read(), read()]);
  });

  test('GET /v1/groups while groups are created and deleted has each group that stays, once', async () => {
    const project = await server.project();
    const staying = buildIds('m', 3_000);
    for (const start of [0, 1_000, 2_000]) {
      await project.seed({ groups: staying.slice(start, start + 1_000).map((id) => ({ id, name: id })) });
    }
    const leaving = staying.filter((_, index) => index % 100 === 0).map((id) => `${id}-leaves`);
    await project.seed({ groups: leaving.map((id) => ({ id, name: id })) });
    const [ids] = await Promise.all([
      project.groupIds(),
      ...leaving.map((id) => project.delete(`/v1/groups/${id}`)),
      ...leaving.map((id) => project.put(`/v1/groups/a-${id}`, { name: id })),
    ]);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(
      ids.filter((id) => id.length === staying[0]?.length),
      staying,
    );
  });

  test('the next page of GET /v1/groups is in the Link header, whose URL works as it is', async () => {
    const project = await server.project();
    await project.seed({ groups: SEVEN.map((id) => ({ id, name: id })) });
    const answer = await project.get('/v1/groups?limit=3');
    assert.match(String(answer.headers.link), /^<[^>]*\/v1\/groups\?[^>]*>; rel="next"$/);
    const { next } = readLinked(answer, '/v1/groups');
    const second = readLinked(await project.get(String(next)), '/v1/groups');
    assert.deepEqual(second.ids, SEVEN.slice(3, 6));
    const last = await project.get(String(second.next));
    assert.deepEqual(readLinked(last, '/v1/groups'), { ids: SEVEN.slice(6), next: null });
  });
});

describe('GET /v1/users', () => {
  test('GET /v1/users answers whole users, and the pagination', async () => {
    const project = await server.project();
    await project.seed({
      users: [
        { id: 'b', name: 'Bb', status: 'deleted' },
        { id: 'a', metadata: { a: 1 } },
      ],
    });
    const { users, pagination } = expectOk<{ users: unknown[]; pagination: unknown }>(
      await project.get('/v1/users'),
    );
    assert.deepEqual(users, [await project.user('a'), await project.user('b')]);
    assert.deepEqual(pagination, { token: null, total: 2 });
  });

  test('the default page of GET /v1/users is 1,000 users', async () => {
    const project = await server.project();
    const ids = buildIds('u', 1_001);
    await project.seedUsers(...ids);
    const path = '/v1/users';
    const first = readUsers(await project.get(path), path);
    assert.deepEqual([first?.ids, first?.total], [ids.slice(0, 1_000), 1_001]);
    const last = readUsers(await project.get(String(first?.next)), path);
    assert.deepEqual([last?.ids, last?.next], [ids.slice(1_000), null]);
  });
});
