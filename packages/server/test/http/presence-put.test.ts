/** Presence updates from outside, over real connections. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { type Answer, send as sendTo } from '../support/http-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { until } from '../support/waiting.ts';
import { type AppCase, type AppOptions, altered, send, withApp } from './app-case.ts';

const PATH = '/v1/users/ada/presence';

interface Put {
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

interface Case extends AppCase {
  readonly url: string;
  put(put: Put): Promise<Answer>;
}

const update = (change: object = {}) => ({
  groupID: 'g',
  location: { page: 'intro', paragraph: '1' },
  exclusiveWithin: { page: 'intro' },
  ...change,
});

async function withServer(options: AppOptions, use: (server: Case) => Promise<void>): Promise<void> {
  await withApp(options, async (appCase) => {
    const { app, authorization } = appCase;
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const put = ({ path = PATH, body = update(), headers = {} }: Put) =>
      sendTo(url, 'PUT', path, {
        headers: { authorization, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    const users = [{ id: 'ada' }, { id: 'bob' }, { id: 'eve', status: 'deleted' }, { id: ODD_ID }];
    const groups = [{ id: 'g', name: 'G', members: ['ada', 'eve', ODD_ID] }];
    await appCase.call('POST', '/v1/batch', { payload: { users, groups } });
    await use({ ...appCase, url, put });
  });
}

/** Has every character that a path may have unescaped. */
const ODD_ID = 'a.b~c:d@e-f_g';

type Expected = number | [status: number, code: string];

const ANSWERS: readonly [string, Put, Expected][] = [
  ['a presence update sets the user present', {}, 200],
  ['a presence update with absent sets the user absent', { body: update({ absent: true }) }, 200],
  ['a presence update with durable stores the location', { body: update({ durable: true }) }, 200],
  [
    'a presence update accepts organizationID for groupID',
    { body: update({ groupID: undefined, organizationID: 'g' }) },
    200,
  ],
  [
    'a presence update accepts an ID with every unescaped character',
    { path: `/v1/users/${ODD_ID}/presence` },
    200,
  ],
  [
    'a presence update accepts a body with spaces and a byte order mark',
    { body: `\ufeff ${JSON.stringify(update(), null, 2)}\n` },
    200,
  ],
  ['a presence update accepts an escaped ID', { path: '/v1/users/%61da/presence' }, 200],
  [
    'a presence update accepts a body of more than 16 KiB',
    { body: JSON.stringify(update()) + ' '.repeat(20_000) },
    200,
  ],
  [
    'a presence update of an unknown user is rejected with user_not_found',
    { path: '/v1/users/nobody/presence' },
    [401, 'user_not_found'],
  ],
  [
    'a presence update of a deleted user is rejected with user_not_found',
    { path: '/v1/users/eve/presence' },
    [401, 'user_not_found'],
  ],
  [
    'a presence update of a user who is not a member is rejected with user_not_found',
    { path: '/v1/users/bob/presence' },
    [401, 'user_not_found'],
  ],
  [
    'a presence update of an unknown group is rejected with group_not_found',
    { body: update({ groupID: 'nowhere "Ü"' }) },
    [401, 'group_not_found'],
  ],
  [
    'a presence update with malformed JSON is rejected with invalid_request',
    { body: '{' },
    [400, 'invalid_request'],
  ],
  [
    'a presence update with a JSON array is rejected with invalid_request',
    { body: '[]' },
    [400, 'invalid_request'],
  ],
  [
    'a presence update with an empty body is rejected with invalid_request',
    { body: '' },
    [400, 'invalid_request'],
  ],
  [
    'a presence update with a lone surrogate in groupID is rejected with group_not_found',
    { body: '{"groupID":"\ud800","location":{"a":"b"}}' },
    [401, 'group_not_found'],
  ],
  ['a presence update without fields is rejected with missing_field', { body: {} }, [400, 'missing_field']],
  [
    'a presence update with an unknown field is rejected with unexpected_field',
    { body: update({ hat: 'red' }) },
    [400, 'unexpected_field'],
  ],
  [
    'a presence update with a number in location is rejected with invalid_field',
    { body: update({ location: { page: 7 } }) },
    [400, 'invalid_field'],
  ],
  [
    'a presence update outside exclusiveWithin is rejected with invalid_field',
    { body: update({ exclusiveWithin: { page: 'outro' } }) },
    [400, 'invalid_field'],
  ],
  [
    'a presence update with absent and durable is rejected with invalid_field',
    { body: update({ absent: true, durable: true }) },
    [400, 'invalid_field'],
  ],
  [
    'a presence update of an ID that is too long is rejected with invalid_field',
    { path: `/v1/users/${'a'.repeat(321)}/presence` },
    [400, 'invalid_field'],
  ],
  [
    'a presence update of an unknown user with a non-ASCII ID is rejected with user_not_found',
    { path: '/v1/users/%C3%9C/presence' },
    [401, 'user_not_found'],
  ],
  [
    'a presence update with a query is rejected with unexpected_field',
    { path: `${PATH}?x=1` },
    [400, 'unexpected_field'],
  ],
  [
    'a presence update with a compressed body is rejected with invalid_request',
    { headers: { 'content-encoding': 'gzip' } },
    [400, 'invalid_request'],
  ],
  [
    'a presence update with an empty Authorization header is rejected with invalid_authorization_header',
    { headers: { authorization: '' } },
    [401, 'invalid_authorization_header'],
  ],
  [
    'a presence update with a malformed token is rejected with invalid_authorization_header',
    { headers: { authorization: 'Bearer x.y.z' } },
    [401, 'invalid_authorization_header'],
  ],
];

describe('a presence update', () => {
  for (const [title, request, expected] of ANSWERS) {
    test(title, () =>
      withServer({}, async ({ put }) => {
        const [status, code] = [expected].flat();
        const answer = await put(request);
        assert.equal(answer.status, status, answer.text);
        if (code !== undefined) assert.equal(answer.json<{ error: string }>().error, code);
        assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
        assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.text)));
        assert.ok(answer.headers['x-request-id'] !== undefined);
        assert.equal((await put({})).status, 200, 'the next one is answered');
      }),
    );
  }

  test('a presence update gets the same answers with a rate limit and with debug logs', async () => {
    const log = pino({ level: 'debug' }, { write() {} });
    for (const options of [{ log }, { settings: { rateLimitPerSecond: 1_000 } }]) {
      await withServer(options, async ({ put }) => {
        for (const [what, request, expected] of ANSWERS)
          assert.equal((await put(request)).status, [expected].flat()[0], what);
      });
    }
  });

  test('a presence update is seen by the reading of the user', () =>
    withServer({}, async ({ put, call }) => {
      await put({});
      const { body } = await call('GET', '/v1/users/ada/presence?groupID=g');
      assert.deepEqual(JSON.parse(body), { id: 'ada', ephemeral: { locations: [update().location] } });
    }));

  test('a presence update has the x-request-id of its request, and is counted in /metrics', () =>
    withServer({}, async ({ put, app }) => {
      const answer = await put({ headers: { 'x-request-id': 'r-1' } });
      assert.equal(answer.headers['x-request-id'], 'r-1');
      await put({ path: '/v1/users/nobody/presence' });
      const { body } = await send(app, '/metrics');
      assert.ok(body.includes(`${counted(200)} 1\n`));
      assert.ok(body.includes(`${counted(401)} 1\n`));
    }));

  test('a presence update is answered 503 with Retry-After when the engine is away, and the log has its x-request-id', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
    let isAway = false;
    const disturb: AppOptions['disturb'] = ({ presence }) => ({
      presence: altered(presence, {
        set(update) {
          if (isAway) return Promise.reject(new StoreUnavailableError('Redis is away'));
          return presence.set(update);
        },
      }),
    });
    await withServer({ disturb, log }, async ({ put }) => {
      isAway = true;
      const answer = await put({ headers: { 'x-request-id': 'r-7' } });
      assert.equal(answer.status, 503);
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
      const { method, route, reqId, err } = JSON.parse(lines[0] as string);
      assert.deepEqual([method, route, reqId], ['PUT', '/v1/users/:id/presence', 'r-7']);
      assert.equal(err.message, 'Redis is away');
    });
  });

  test('a presence update can arrive in pieces, pipelined, and end before it is complete, which counts as 400', () =>
    withServer({}, async ({ url, app, authorization, put }) => {
      const body = JSON.stringify(update());
      const head = `PUT ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
      const connection = new RawConnection(url);
      connection.write(head + body + head + body.slice(0, 9));
      await connection.received((text) => text.includes('ada"}'));
      connection.write(body.slice(9) + head + body.slice(0, 9));
      const text = await connection.received((sofar) => sofar.split('ada"}').length === 3);
      assert.equal(text.split('HTTP/1.1 200').length, 3);
      connection.destroy();
      assert.equal((await put({})).status, 200);
      for (let metrics = ''; !metrics.includes(`${counted(400)} 1`); )
        metrics = (await send(app, '/metrics')).body;
    }));
});

describe('a presence update whose client disconnects', () => {
  test('a presence update whose client disconnects before its answer is counted once in /metrics', async () => {
    const { promise: stored, resolve: store } = Promise.withResolvers<void>();
    const { promise: called, resolve: onCall } = Promise.withResolvers<void>();
    let isDelayed = false;
    const disturb: AppOptions['disturb'] = ({ presence }) => ({
      presence: altered(presence, {
        async set(update) {
          if (isDelayed) {
            onCall();
            await stored;
          }
          return presence.set(update);
        },
      }),
    });
    await withServer({ disturb }, async ({ url, app, authorization }) => {
      const body = JSON.stringify(update());
      isDelayed = true;
      const gone = new Promise<void>((resolve) => {
        app.server.once('connection', (socket: Socket) => socket.once('close', () => resolve()));
      });
      const connection = new RawConnection(url);
      connection.write(
        `PUT ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      await called;
      connection.destroy();
      await gone;
      store();
      let metrics = '';
      await until('the count of the request', async () => {
        metrics = (await send(app, '/metrics')).body;
        return metrics.includes(`${counted(200)} 1`);
      });
      assert.ok(!metrics.includes(counted(400)));
    });
  });
});

const counted = (status: number) =>
  `rollcall_http_request_duration_seconds_count{method="PUT",route="/v1/users/:id/presence",status="${status}"}`;
