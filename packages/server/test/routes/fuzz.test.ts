import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from 'fast-check';
import { clockedServer } from '../support/clocked-server.ts';
import { DATA_ENDPOINTS, projectEndpoints } from '../support/endpoints.ts';
import { expectDone } from '../support/expect.ts';
import { jwt } from '../support/jwt.ts';
import type { Project } from '../support/project-client.ts';
import { expectInVocabulary } from '../support/vocabulary.ts';

/** A fixed seed, so that runs repeat; a failure prints it with the path to the smallest example. */
const SEED = 20_260_115;
const RUNS = { seed: SEED, numRuns: 60 };

const server = clockedServer();
let project: Project;

before(async () => {
  project = await server.projectWithGroup('g', 'u');
});

/** Texts that mean something to some layer, among arbitrary ones. */
const text = fc.oneof(
  fc.constantFrom(
    'u',
    'g',
    '',
    'active',
    'deleted',
    'notification_channels',
    '__proto__',
    '\0',
    '\ud800',
    '👋',
    '..',
    'a/b',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
);
const value = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: fc.array(text, { maxLength: 5 }) },
  { weight: 2, arbitrary: fc.dictionary(text, text, { maxKeys: 4 }) },
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, [], {}, [[]], [{}], [null]),
);

/** Bodies near what the endpoint takes: its own fields with good and bad values, some left out, some added. */
const bodyNear = (body: Record<string, unknown>) => {
  const fields = Object.entries(body).map(
    ([name, good]) => [name, fc.oneof(fc.constant(good), value)] as const,
  );
  const near = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  const item = fc.record(
    {
      id: fc.oneof(text, fc.constant('u')),
      name: value,
      members: value,
      metadata: value,
      status: value,
      email: value,
    },
    { requiredKeys: [] },
  );
  const lists = fc.record(
    { users: fc.array(item, { maxLength: 4 }), groups: fc.array(item, { maxLength: 4 }) },
    { requiredKeys: [] },
  );
  const extra = fc.record(
    {
      status: value,
      metadata: value,
      members: value,
      email: value,
      durable: value,
      absent: value,
      exclusiveWithin: value,
      remove: value,
    },
    { requiredKeys: [] },
  );
  return fc.oneof(
    near,
    fc.tuple(near, extra).map(([a, b]) => ({ ...a, ...b })),
    fc.tuple(near, fc.dictionary(text, value, { maxKeys: 2 })).map(([a, b]) => ({ ...a, ...b })),
    lists,
    fc.jsonValue({ maxDepth: 4 }),
  );
};

describe('whatever body is sent, the answer is of the vocabulary and never 500', () => {
  for (const { method, path, body } of DATA_ENDPOINTS) {
    if (body === undefined) continue;
    test(`${method} ${path} answers any body from the vocabulary, never with 500`, async () => {
      const property = fc.asyncProperty(bodyNear(body), async (fuzzed) => {
        expectInVocabulary(await project.send(method, path, JSON.stringify(fuzzed)));
      });
      await fc.assert(property, RUNS);
    });
  }

  for (const { method, path, body } of projectEndpoints('none')) {
    if (body === undefined || path === '/v1/projects') continue;
    test(`${method} ${path} answers any body from the vocabulary, never with 500`, async () => {
      const property = fc.asyncProperty(bodyNear(body), async (fuzzed) => {
        expectInVocabulary(await server.call(server.customerToken(), method, path, fuzzed));
      });
      await fc.assert(property, RUNS);
    });
  }

  test('POST /v1/authorize answers any body from the vocabulary, never with 500', async () => {
    const property = fc.asyncProperty(bodyNear({ signed_app_token: 'a.b.c' }), async (fuzzed) => {
      expectInVocabulary(await server.call(null, 'POST', '/v1/authorize', fuzzed));
    });
    await fc.assert(property, RUNS);
  });

  test('any bytes as a body are answered from the vocabulary, never with 500', async () => {
    const cut = fc.tuple(fc.json(), fc.nat(50)).map(([json, length]) => Buffer.from(json.slice(0, length)));
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 200 }), cut);
    const property = fc.asyncProperty(
      bytes,
      fc.constantFrom('/v1/groups/g', '/v1/users/u'),
      async (body, path) => {
        expectInVocabulary(await project.send('PUT', path, body));
      },
    );
    await fc.assert(property, RUNS);
  });
});

describe('the answer to any request is of the vocabulary and never 500', () => {
  /** Any character that a request line can have. */
  const visible = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 30,
  });
  const piece = fc.oneof(
    visible,
    text.map((each) => encodeURIComponent(each.toWellFormed())),
    fc.constantFrom(
      'groups',
      'users',
      'preferences',
      'presence',
      'members',
      'batch',
      '%',
      '%00',
      '%zz',
      '..',
      '.',
      ';',
      '#',
    ),
  );

  test('the answer to any path is of the vocabulary and never 500', async () => {
    const property = fc.asyncProperty(
      fc.array(piece, { maxLength: 5 }),
      fc.constantFrom('GET', 'PUT', 'POST', 'DELETE'),
      async (pieces, method) => {
        // Removing u and g, which the other properties use, would be a success like any other.
        const path = `/v1/${pieces.join('/')}`;
        if (method === 'DELETE' && /^\/v1\/(users|groups)\/[ug]([?#]|$)/.test(path)) return;
        expectInVocabulary(await project.send(method, path, method === 'GET' ? undefined : '{}'));
      },
    );
    await fc.assert(property, { ...RUNS, numRuns: 300 });
  });

  test('the answer to any query is of the vocabulary and never 500', async () => {
    const name = fc.oneof(
      fc.constantFrom('limit', 'token', 'location', 'partial_match', 'exclude_durable', 'groupID', 'dry_run'),
      piece,
    );
    const query = fc.array(fc.tuple(name, fc.oneof(piece, fc.constantFrom('1', 'true', '{"a":"b"}'))), {
      maxLength: 4,
    });
    const lists = [
      '/v1/groups',
      '/v1/users',
      '/v1/groups/g/members',
      '/v1/groups/g/presence',
      '/v1/users/u/presence',
      '/v1/users/u/groups',
    ];
    const property = fc.asyncProperty(fc.constantFrom(...lists), query, async (path, pairs) => {
      expectInVocabulary(await project.get(`${path}?${pairs.map((pair) => pair.join('=')).join('&')}`));
    });
    await fc.assert(property, { ...RUNS, numRuns: 300 });
  });

  test('an altered page token is rejected, and never read as another position', async () => {
    await project.seedUsers('v', 'w');
    const { pagination } = (await project.get('/v1/users?limit=1')).json<{ pagination: { token: string } }>();
    const good = pagination.token;
    const altered = fc
      .tuple(fc.nat(good.length - 1), fc.constantFrom(...'AZaz09-_'))
      .map(([at, character]) => good.slice(0, at) + character + good.slice(at + 1));
    await fc.assert(
      fc.asyncProperty(altered, async (token) => {
        expectInVocabulary(await project.get(`/v1/users?token=${token}`));
      }),
      RUNS,
    );
  });

  test('the answer to a token with claims of any kind is of the vocabulary and never 500', async () => {
    const claims = fc.record(
      {
        project_id: value,
        app_id: value,
        customer_id: value,
        user_id: value,
        iat: value,
        exp: value,
        nbf: value,
      },
      { requiredKeys: [] },
    );
    const header = fc.record(
      { alg: fc.oneof(text, value), typ: value, crit: value, kid: value, b64: value },
      { requiredKeys: [] },
    );
    const property = fc.asyncProperty(claims, header, async (payload, over) => {
      const answer = await server.call(jwt(payload, project.secret, { header: over }), 'GET', '/v1/groups');
      expectInVocabulary(answer);
      assert.equal(answer.status, 401, answer.text);
    });
    await fc.assert(property, RUNS);
  });
});

test('the server answers valid requests correctly after all random requests', async () => {
  expectDone(await project.put('/v1/groups/g', { name: 'Still here' }));
});
