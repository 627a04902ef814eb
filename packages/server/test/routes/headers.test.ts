import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { clockedServer } from '../support/clocked-server.ts';
import { expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { jwt } from '../support/jwt.ts';
import type { Project } from '../support/project-client.ts';
import { RawConnection, requestHead } from '../support/raw-connection.ts';
import { until } from '../support/waiting.ts';

const logged: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) });
const server = clockedServer({ log, settings: { bodyLimitBytes: 5_000 } });

const json = { 'content-type': 'application/json' };

/** A request of each kind of answer: its title, its status, and the request with these headers. */
const ANSWERS: readonly [
  string,
  number,
  (project: Project, headers: Record<string, string>) => Promise<Answer>,
][] = [
  ['a read', 200, (p, headers) => p.get('/v1/groups', headers)],
  ['a write', 200, (p, headers) => p.put('/v1/groups/g', { name: 'G' }, headers)],
  ['a creation', 201, (p, headers) => p.post('/v1/users', { id: crypto.randomUUID() }, headers)],
  ['not modified', 304, (p, headers) => p.get('/v1/groups/g', { ...headers, 'if-none-match': '*' })],
  ['malformed JSON', 400, (p, headers) => p.send('PUT', '/v1/groups/g', '{', headers)],
  ['a field failure', 400, (p, headers) => p.put('/v1/groups/g', { nick: 1 }, headers)],
  ['a malformed escape', 400, (p, headers) => p.get('/v1/groups/%ZZ', headers)],
  ['no token', 401, (_, headers) => server.bare('GET', '/v1/groups', headers)],
  ['not found', 401, (p, headers) => p.get('/v1/groups/nowhere', headers)],
  ['no such path', 404, (p, headers) => p.get('/v1/nowhere', headers)],
  ['wrong method', 405, (p, headers) => p.delete('/v1/groups', headers)],
  ['a conflict', 409, (p, headers) => p.post('/v1/groups', { id: 'g', name: 'G' }, headers)],
  ['stale', 412, (p, headers) => p.put('/v1/groups/g', { name: 'G' }, { ...headers, 'if-match': '"no"' })],
  ['too large', 413, (p, headers) => p.send('PUT', '/v1/groups/g', ' '.repeat(6_000), headers)],
  ['an unknown expectation', 417, (p, headers) => p.get('/v1/groups', { ...headers, expect: 'tea' })],
  ['health', 200, (_, headers) => server.bare('GET', '/healthz', headers)],
  ['metrics', 200, (_, headers) => server.bare('GET', '/metrics', headers)],
];

async function projectWithGroup(): Promise<Project> {
  const project = await server.project();
  await project.put('/v1/groups/g', { name: 'G' });
  return project;
}

test('every JSON answer ends in one line feed, so that the prompt of a shell does not stick to it', async () => {
  const project = await projectWithGroup();
  for (const [title, status, send] of ANSWERS) {
    const { headers, text } = await send(project, {});
    if (status !== 304 && String(headers['content-type']).startsWith('application/json'))
      assert.match(text, /^\{.*\}\n$|^\[.*\]\n$/, title);
  }
  assert.match((await server.bare('GET', '/openapi.json')).text, /^\{.*\}\n$/);
  const connection = new RawConnection(server.raw.url);
  connection.write('no HTTP\r\n\r\n');
  assert.match(await connection.closed(), /\r\n\r\n\{.*\}\n$/);
});

/** Answers of requests whose token was not needed, or not read yet. */
const BEFORE_TOKENS = [
  'no token',
  'no such path',
  'wrong method',
  'an unknown expectation',
  'health',
  'metrics',
];

test('every answer to a valid token has Cache-Control: no-store', async () => {
  const project = await projectWithGroup();
  for (const [title, , send] of ANSWERS) {
    if (BEFORE_TOKENS.includes(title)) continue;
    assert.equal((await send(project, {})).headers['cache-control'], 'no-store', title);
  }
});

const requestIdOf = (answer: Answer) => String(answer.headers['x-request-id']);

describe('x-request-id', () => {
  for (const [title, status, send] of ANSWERS) {
    test(`x-request-id is on the answer "${title}" (${status}), taken from the request or made up`, async () => {
      const project = await projectWithGroup();
      const given = await send(project, { 'x-request-id': 'Given-1!~' });
      assert.equal(given.status, status, given.text);
      assert.equal(requestIdOf(given), 'Given-1!~');
      const [one, two] = [await send(project, {}), await send(project, {})];
      assert.match(requestIdOf(one), /^[\x21-\x7e]{1,128}$/);
      assert.notEqual(requestIdOf(one), requestIdOf(two));
    });
  }

  test('x-request-id is accepted when it is 1 to 128 visible ASCII characters', async () => {
    for (const id of ['x', 'x'.repeat(128), '!"#$%&()*+,-./:;<=>?@[]^_`{|}~', "'"]) {
      assert.equal(requestIdOf(await server.bare('GET', '/healthz', { 'x-request-id': id })), id);
    }
  });

  test('x-request-id is replaced when it is anything else', async () => {
    for (const id of ['', 'x'.repeat(129), 'a b', 'a\tb', 'é', 'ÿ', 'a\xa0b']) {
      const given = requestIdOf(await server.bare('GET', '/healthz', { 'x-request-id': id }));
      assert.notEqual(given, id);
      assert.match(given, /^[\x21-\x7e]{1,128}$/);
    }
  });

  test('x-request-id is on the answer to a request whose body cannot be read, the one that it brought or that of its debug line', async () => {
    const project = await server.project();
    for (const headers of [['X-Request-Id: torn-1'], []]) {
      const connection = new RawConnection(project.url);
      const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked', ...headers];
      connection.write(`${requestHead(project.token, 'PUT /v1/groups/torn', ...chunked)}no length\r\n`);
      const [, id] = /^HTTP\/1\.1 400 .*\r\nx-request-id: (\S+)\r\n/is.exec(await connection.ended()) ?? [];
      connection.destroy();
      if (headers.length > 0) assert.equal(id, 'torn-1');
      assert.ok(id);
      await until('the debug line', () => logged.some((line) => line.includes(`"reqId":"${id}"`)));
    }
  });

  test('x-request-id is on the one debug line that each request logs', async () => {
    const project = await projectWithGroup();
    for (const [title, , send] of ANSWERS) {
      const id = `logged-${title.replaceAll(' ', '-')}`;
      await send(project, { 'x-request-id': id });
      const lines = logged.filter((line) => line.includes(`"${id}"`)).map((line) => JSON.parse(line));
      const debug = lines.filter(({ level }) => level === 20);
      assert.equal(debug.length, 1, `${title}: ${JSON.stringify(lines)}`);
      assert.ok(
        lines.every(({ level }) => level <= 20),
        `${title} is no failure of ours: ${JSON.stringify(lines)}`,
      );
    }
  });
});

describe('the headers of answers', () => {
  test('a JSON answer has its content-type, and browsers may not guess another one', async () => {
    const project = await projectWithGroup();
    for (const [title, status, send] of ANSWERS) {
      const answer = await send(project, {});
      if (status === 304 || title === 'metrics') continue;
      assert.match(String(answer.headers['content-type']), /^application\/json(; charset=utf-8)?$/i, title);
      assert.equal(typeof answer.json(), 'object');
    }
  });

  test('no answer names what the server is built with', async () => {
    const project = await projectWithGroup();
    for (const [title, , send] of ANSWERS) {
      const { headers } = await send(project, {});
      for (const name of ['server', 'x-powered-by']) assert.equal(headers[name], undefined, title);
    }
  });

  test('WWW-Authenticate is on token failures, and on no other 401', async () => {
    const project = await projectWithGroup();
    const expired = jwt({ project_id: project.id, exp: server.now() - 60 }, project.secret);
    const failures = [
      await server.call(null, 'GET', '/v1/groups'),
      await server.call('x', 'GET', '/v1/groups'),
      await server.call(expired, 'GET', '/v1/groups'),
      await server.call(jwt({ project_id: 'none', iat: server.now() }, 'x'), 'GET', '/v1/groups'),
      await server.call(server.customerToken(), 'GET', '/v1/groups'),
    ];
    for (const answer of failures) {
      assert.equal(answer.status, 401);
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
    }
    const others = [
      await project.get('/v1/groups/nowhere'),
      await project.get('/v1/users/nobody'),
      await project.put('/v1/groups/g', { members: ['nobody'] }),
      await project.get('/v1/organizations/nowhere'),
      await server.call(server.customerToken(), 'GET', '/v1/projects/none'),
    ];
    for (const answer of others) {
      assert.equal(answer.status, 401);
      assert.equal(answer.headers['www-authenticate'], undefined, answer.text);
    }
  });
});

describe('the log', () => {
  test('the log never contains a secret or a token of any request', async () => {
    const project = await projectWithGroup();
    const { url, customerSecret } = server.raw;
    const created = await server.call(server.customerToken(), 'POST', '/v1/projects', { name: 'Logged' });
    const { id, secret } = created.json<{ id: string; secret: string }>();
    const rotated = await server.call(server.customerToken(), 'POST', `/v1/projects/${id}/rotate-secret`, {});
    const next = rotated.json<{ secret: string }>().secret;
    const appToken = jwt({ app_id: id, iat: server.now() }, secret);
    const wrong = jwt({ project_id: id, iat: server.now() }, 'wrong');
    const authorized = await server.call(null, 'POST', '/v1/authorize', { signed_app_token: appToken });
    const access = expectOk<{ access_token: string }>(authorized).access_token;
    for (const token of [access, wrong, appToken]) {
      await server.call(token, 'GET', '/v1/groups');
      await server.bare('GET', '/v1/groups', { authorization: token });
      await server.bare('GET', `/v1/groups?token=${token}`, { authorization: `Bearer ${token}` });
      await server.bare('GET', `/v1/groups?access_token=${token}`);
      await server.bare('POST', '/v1/authorize', json, `{"signed_app_token":"${token}"`);
      await server.bare('PUT', `/v1/nowhere?token=${token}`, { ...json, cookie: token }, `"${token}"`);
    }
    await server.call(access, 'DELETE', '/v1/authorize');
    const text = logged.join('');
    assert.ok(text.includes(url) && text.includes('/v1/groups'), 'the log was captured');
    for (const hidden of [
      customerSecret,
      secret,
      next,
      project.secret,
      access,
      wrong,
      appToken,
      server.customerToken(),
    ]) {
      assert.ok(!text.includes(hidden), `the log shows ${hidden}`);
      const signature = hidden.split('.')[2];
      if (signature !== undefined) assert.ok(!text.includes(signature), 'the log shows a signature');
    }
  });
});
