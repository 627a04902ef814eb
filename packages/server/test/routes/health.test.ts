import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { OPEN_PATHS } from '../support/endpoints.ts';
import { expectDone, expectError } from '../support/expect.ts';

const server = clockedServer();

describe('the endpoints of the operator', () => {
  for (const path of OPEN_PATHS) {
    test(`GET ${path} needs no token, and does not read one`, async () => {
      for (const headers of [{}, { authorization: 'nonsense' }, { authorization: 'Bearer a.b.c' }]) {
        assert.equal((await server.bare('GET', path, headers)).status, 200);
      }
    });

    test(`GET ${path} ignores a body`, async () => {
      const headers = { 'content-type': 'application/json' };
      assert.equal((await server.bare('GET', path, headers, '{')).status, 200);
    });
  }

  test('/healthz and /readyz answer {"status": "ok"}', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const answer = await server.bare('GET', path);
      assert.match(String(answer.headers['content-type']), /^application\/json/);
      assert.equal(typeof answer.json(), 'object');
    }
  });

  test('/readyz rejects an unknown part of the engine in exclude, and any other parameter', async () => {
    assert.equal((await server.bare('GET', '/readyz?exclude=store&exclude=broker')).status, 200);
    expectError(await server.bare('GET', '/readyz?exclude=redis'), 400, 'invalid_field');
    expectError(await server.bare('GET', '/readyz?include=store'), 400, 'unexpected_field');
  });

  test('/openapi.json is OpenAPI 3.1 and has every endpoint of the specification', async () => {
    const api = (await server.bare('GET', '/openapi.json')).json<{
      openapi: string;
      paths: Record<string, Record<string, unknown>>;
    }>();
    assert.match(api.openapi, /^3\.1\./);
    const described = Object.entries(api.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, '*')}`),
    );
    const specified = [
      'PUT /v1/groups/*',
      'POST /v1/groups/*/members',
      'GET /v1/groups',
      'GET /v1/groups/*/members',
      'GET /v1/groups/*',
      'DELETE /v1/groups/*',
      'GET /v1/users/*/preferences',
      'PUT /v1/*/preferences',
      'PUT /v1/users/*/presence',
      'POST /v1/batch',
    ];
    for (const endpoint of specified) assert.ok(described.includes(endpoint), `${endpoint} is not described`);
  });
});

/** A line of the Prometheus text format 0.0.4: a comment, or a sample. */
const COMMENT = /^# (HELP|TYPE) [a-zA-Z_:][a-zA-Z0-9_:]* .+$/;
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const SAMPLE = new RegExp(
  `^[a-zA-Z_:][a-zA-Z0-9_:]*(\\{(${LABEL}(,${LABEL})*,?)?\\})? (NaN|[+-]?Inf|-?[0-9.]+(e[+-]?[0-9]+)?)( [0-9]+)?$`,
);

async function metrics(): Promise<string[]> {
  const answer = await server.bare('GET', '/metrics');
  assert.match(String(answer.headers['content-type']), /^text\/plain; version=0\.0\.4/);
  return answer.text.split('\n').filter((line) => line !== '');
}

/** All samples that count requests, added up. */
/** What has labels, without what Node waits for at the moment: callers do not choose these, and they come and go. */
async function labelled(): Promise<Set<string>> {
  const lines = (await metrics()).filter((line) => /^(?!nodejs_active_resources)\w+\{/.test(line));
  return new Set(lines.map((line) => line.replace(/ [^ ]*$/, '')));
}

async function requestsCounted(): Promise<number> {
  const counts = (await metrics()).filter((line) =>
    /^[a-z_]*request[a-z_]*_count[{ ]|^[a-z_]*requests_total[{ ]/.test(line),
  );
  assert.ok(counts.length > 0, 'requests are counted');
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('GET /metrics', () => {
  test('GET /metrics is a page of the Prometheus text format, each metric with its type', async () => {
    const lines = await metrics();
    for (const line of lines) assert.match(line, line.startsWith('#') ? COMMENT : SAMPLE);
    const types = new Set(
      lines.filter((line) => line.startsWith('# TYPE')).map((line) => line.split(' ')[2]),
    );
    for (const line of lines.filter((each) => !each.startsWith('#'))) {
      const name = line.match(/^[a-zA-Z0-9_:]+/)?.[0] ?? '';
      assert.ok(
        types.has(name) || types.has(name.replace(/_(bucket|sum|count|total)$/, '')),
        `${name} has no type`,
      );
    }
    assert.equal(new Set(lines).size, lines.length, 'no line twice');
  });

  test('GET /metrics counts the requests', async () => {
    const project = await server.project();
    const before = await requestsCounted();
    for (let count = 0; count < 5; count += 1) await project.get('/v1/groups');
    assert.ok((await requestsCounted()) >= before + 5);
  });

  test('GET /metrics does not grow with the IDs, the paths and the methods that callers make up', async () => {
    const project = await server.project();
    const visit = async (name: string) => {
      expectDone(await project.put(`/v1/groups/${name}`, { name: 'G' }));
      await project.get(`/v1/nowhere/${name}`);
      await project.get(`/v1/groups/%ZZ${name}`);
      await project.send('PROPFIND', `/v1/groups/${name}`);
    };
    await visit('first');
    const before = await labelled();
    for (let count = 0; count < 20; count += 1) await visit(`metric-${count}`);
    const after = await labelled();
    assert.deepEqual([...after.difference(before)], []);
    assert.ok(![...after].some((name) => name.includes('metric-')), 'no ID is a label');
  });

  test('GET /metrics has the same metrics for each of two that scrape one after the other', async () => {
    const names = (lines: readonly string[]) => new Set(lines.map((line) => line.replace(/[ {].*$/, '')));
    const [first, second] = [await metrics(), await metrics()];
    assert.deepEqual(names(second), names(first));
    assert.ok(names(second).has('nodejs_eventloop_lag_p99_seconds'));
  });

  test('GET /metrics contains no secret and no token', async () => {
    const project = await server.project();
    await project.get('/v1/groups');
    const text = (await metrics()).join('\n');
    for (const secret of [project.secret, project.token, server.raw.customerSecret])
      assert.ok(!text.includes(secret));
  });
});

test('a wrong method on an open path of the operator is 405, without a token', async () => {
  const answer = await server.bare('POST', '/healthz');
  expectError(answer, 405, 'invalid_request');
});
