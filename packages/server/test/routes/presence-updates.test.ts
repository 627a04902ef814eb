import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { limits, type RejectedPresenceUpdate } from '@rollcall/protocol';
import { buildIds } from '../support/build.ts';
import { readChanges } from '../support/change-feed.ts';
import { expectError, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();
let project: Project;
let presence: Presence;

beforeEach(async () => {
  project = await server.project();
  presence = new Presence(project);
  await project.seed({
    users: [...['ada', 'bob', 'loner'].map((id) => ({ id })), { id: 'gone', status: 'deleted' }],
    groups: [
      { id: 'g', name: 'G', members: ['ada', 'bob', 'gone'] },
      { id: 'h', name: 'H', members: ['ada'] },
      { id: 'closed', name: 'Closed', status: 'deleted', members: ['ada'] },
    ],
  });
});

interface Applied {
  readonly success: true;
  readonly message: string;
  readonly updated: number;
  readonly refused: readonly RejectedPresenceUpdate[];
}

const put = (updates: unknown): Promise<Answer> => project.put('/v1/presence', { updates });
const at = (userID: string, page: string, more: object = {}) => ({
  userID,
  groupID: 'g',
  location: { page },
  ...more,
});

describe('PUT /v1/presence', () => {
  test('PUT /v1/presence applies many updates, of every kind', async () => {
    await presence.set('bob', { page: 'old' });
    const answer = await put([
      at('ada', '1'),
      at('ada', '1', { groupID: 'h' }),
      at('ada', '9', { durable: true }),
      at('bob', 'old', { absent: true }),
      {
        userID: 'bob',
        organizationID: 'g',
        location: { page: '2', line: '1' },
        exclusiveWithin: { page: '2' },
      },
    ]);
    assert.deepEqual(expectOk(answer), {
      success: true,
      message: 'updated presence 5 times, refused 0 times',
      updated: 5,
      refused: [],
    });
    assert.deepEqual(await presence.ephemeral(), { ada: [{ page: '1' }], bob: [{ page: '2', line: '1' }] });
    assert.deepEqual(await presence.ephemeral('h'), { ada: [{ page: '1' }] });
    assert.deepEqual((await presence.entryOf('ada')).durable?.location, { page: '9' });
  });

  test('PUT /v1/presence lists each rejected update with the code that it would have alone, and applies the others', async () => {
    const updates = [
      at('ada', '1'),
      at('nobody', '1'),
      at('gone', '1'),
      at('loner', '1'),
      at('ada', '1', { groupID: 'nowhere' }),
      at('ada', '1', { groupID: 'closed' }),
      { userID: 'ada', organizationID: 'nowhere', location: { page: '1' } },
      at('nobody', '1', { durable: true }),
      at('loner', '1', { absent: true }),
      at('bob', '2'),
    ];
    const { updated, refused, message } = expectOk<Applied>(await put(updates));
    assert.equal(message, 'updated presence 2 times, refused 8 times');
    assert.equal(updated, 2);
    assert.deepEqual(
      refused.map(({ index, userID, error }) => [index, userID, error]),
      [
        [1, 'nobody', 'user_not_found'],
        [2, 'gone', 'user_not_found'],
        [3, 'loner', 'user_not_found'],
        [4, 'ada', 'group_not_found'],
        [5, 'ada', 'group_not_found'],
        [6, 'ada', 'organization_not_found'],
        [7, 'nobody', 'user_not_found'],
        [8, 'loner', 'user_not_found'],
      ],
    );
    for (const rejection of refused) {
      const { userID, ...body } = updates[rejection.index] as Record<string, unknown>;
      const alone = await project.put(`/v1/users/${userID}/presence`, body);
      assert.deepEqual(alone.json(), { error: rejection.error, message: rejection.message });
    }
    assert.deepEqual(Object.keys(await presence.ephemeral()), ['ada', 'bob']);
  });

  test('PUT /v1/presence applies the updates of one user in one group in their order', async () => {
    const line = (n: number, more: object = {}) =>
      at('ada', '1', { location: { page: '1', line: String(n) }, exclusiveWithin: { page: '1' }, ...more });
    const updates = Array.from({ length: 200 }, (_, index) => [line(index), at('bob', String(index))]).flat();
    assert.equal(expectOk<Applied>(await put(updates)).updated, 400);
    assert.deepEqual(await presence.locationsOf('ada'), [{ page: '1', line: '199' }]);
    const flips = [line(1), line(1, { absent: true, exclusiveWithin: undefined }), line(2), line(3)];
    assert.equal(expectOk<Applied>(await put([...flips, line(3, { absent: true })])).updated, 5);
    assert.deepEqual(await presence.locationsOf('ada'), []);
    const durable = Array.from({ length: 20 }, (_, index) => line(index, { durable: true }));
    expectOk(await put(durable));
    assert.deepEqual((await presence.entryOf('ada')).durable?.location, { page: '1', line: '19' });
  });

  test('the changes of the durable updates of one request are adjacent, in their order, also where requests race', async () => {
    const durable = (userID: string, page: string, more = {}) => at(userID, page, { durable: true, ...more });
    const requests = Array.from({ length: 6 }, (_, request) => ({
      id: `r${request}`,
      updates: Array.from({ length: 10 }, (_, index) => `${request}-${index}`).flatMap((page) => [
        ...[durable('ada', page), durable('nobody', page), at('bob', page)],
        ...[durable('bob', page), durable('ada', page, { groupID: 'h' })],
      ]),
    }));
    await Promise.all(
      requests.map(async ({ id, updates }) => {
        const answer = await project.put('/v1/presence', { updates }, { 'x-request-id': id });
        const { updated, refused } = expectOk<Applied>(answer);
        assert.equal(updated, 40);
        assert.deepEqual(
          refused.map(({ index, error }) => [index, error]),
          Array.from({ length: 10 }, (_, index) => [5 * index + 1, 'user_not_found']),
        );
      }),
    );
    const changes = await readChanges(project, 180, { type: 'durable_presence.moved' });
    const ids = changes.map(({ request_id }) => request_id);
    const runs = ids.filter((id, index) => id !== ids[index - 1]);
    assert.deepEqual([...runs].sort(), requests.map(({ id }) => id).sort(), 'each request is one run');
    const ofRequest = changes.filter(({ request_id }) => request_id === 'r0');
    assert.deepEqual(
      ofRequest.map(({ user, group }) => `${user} in ${group}`),
      Array.from({ length: 10 }, () => ['ada in g', 'bob in g', 'ada in h']).flat(),
    );
    const { durable: latest } = await presence.entryOf('ada');
    assert.deepEqual(
      latest?.location,
      { page: `${runs.at(-1)?.slice(1)}-9` },
      'the last one is the last commit',
    );
  });

  test('PUT /v1/presence accepts 1 to 1,000 updates', async () => {
    const ids = buildIds('many-', limits.PRESENCE_UPDATES_MAX);
    await project.seed({
      users: ids.map((id) => ({ id })),
      groups: [{ id: 'many', name: 'Many', members: ids }],
    });
    const updates = ids.map((id) => at(id, '1', { groupID: 'many' }));
    assert.equal(expectOk<Applied>(await put(updates)).updated, 1_000);
    assert.equal((await presence.everyone('many')).length, 1_000);
    expectError(await put([...updates, at('ada', '1')]), 400, 'invalid_field', 'updates', '1 to 1000');
    expectError(await put([]), 400, 'invalid_field', 'updates', '1 to 1000');
  });

  const INVALID: [
    what: string,
    update: object,
    code: 'unexpected_field' | 'missing_field' | 'invalid_field',
    field: string,
  ][] = [
    ['an unknown field', at('bob', '1', { nick: 1 }), 'unexpected_field', 'updates[1].nick'],
    ['no user', { groupID: 'g', location: { page: '1' } }, 'missing_field', 'updates[1].userID'],
    ['no group', { userID: 'bob', location: { page: '1' } }, 'missing_field', 'updates[1].groupID'],
    ['no location', { userID: 'bob', groupID: 'g' }, 'missing_field', 'updates[1].location'],
    ['a number for a user', at('bob', '1', { userID: 7 }), 'invalid_field', 'updates[1].userID'],
    ['an empty location', at('bob', '1', { location: {} }), 'invalid_field', 'updates[1].location'],
    ['two groups', at('bob', '1', { organizationID: 'g' }), 'invalid_field', 'updates[1].organizationID'],
    [
      'absent and durable',
      at('bob', '1', { absent: true, durable: true }),
      'invalid_field',
      'updates[1].absent',
    ],
    [
      'a location outside of its region',
      at('bob', '1', { exclusiveWithin: { page: '2' } }),
      'invalid_field',
      'updates[1].location',
    ],
  ];
  for (const [what, update, code, field] of INVALID) {
    test(`PUT /v1/presence rejects the whole request for ${what} in one update, and applies nothing`, async () => {
      expectError(await put([at('ada', '1'), update]), 400, code, field);
      assert.deepEqual(await presence.everyone(), []);
    });
  }

  test('PUT /v1/presence checks each step over the whole request: unexpected before missing before invalid', async () => {
    const invalid = at('bob', '1', { absent: true, durable: true });
    const missing = { userID: 'bob', location: { page: '1' } };
    const unexpected = at('nobody', '1', { nick: 1 });
    expectError(await put([invalid, missing, unexpected]), 400, 'unexpected_field', 'updates[2].nick');
    const message = expectError(await put([invalid, missing, missing]), 400, 'missing_field');
    assert.match(message, /updates\[1\]\.groupID, updates\[2\]\.groupID/);
  });

  test('PUT /v1/presence rejects updates that are not an array with invalid_field', async () => {
    for (const updates of [null, {}, 'x', 7, [null], [[]], ['x']]) {
      expectError(await put(updates), 400, 'invalid_field', 'updates');
    }
    expectError(await project.put('/v1/presence', {}), 400, 'missing_field', 'updates');
    expectError(await project.put('/v1/presence', { users: [] }), 400, 'unexpected_field', 'users');
    expectError(await project.put('/v1/presence', []), 400, 'invalid_request');
    expectError(await project.get('/v1/presence'), 405, 'invalid_request');
  });

  test('PUT /v1/presence reports only the number of too many updates', async () => {
    const tooMany = Array.from({ length: limits.PRESENCE_UPDATES_MAX + 1 }, () => ({ userID: 'bob' }));
    expectError(await put(tooMany), 400, 'invalid_field', 'updates', '1 to 1000');
  });

  test('PUT /v1/presence names twenty invalid batches of a thousand, and counts the rest', async () => {
    const updates = Array.from({ length: 1_000 }, () => ({ userID: 'bob', location: { page: '1' } }));
    const message = expectError(await put(updates), 400, 'missing_field', 'and 980 more');
    assert.ok(message.length < 2_000, `${message.length} characters`);
  });
});
