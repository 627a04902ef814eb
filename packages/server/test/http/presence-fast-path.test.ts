/**
 * Updates of presence whose requests are plain do not go through the framework. Nobody is to notice: each request here is
 * sent twice, plain and with a content type that means the same and goes the ordinary way, and the answers are compared.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { type Answer, send } from '../support/http-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { type AppCase, type AppOptions, altered, withApp } from './app-case.ts';

const PLAIN = 'application/json';
const ORDINARY = 'application/json;charset=utf-8';
const PATH = '/v1/users/ada/presence';

interface Put {
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

interface Case extends AppCase {
  readonly url: string;
  /** How many requests the framework has got so far. */
  ordinary(): number;
  put(put: Put, contentType?: string): Promise<Answer>;
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
    let ordinary = 0;
    app.addHook('onRequest', async () => {
      ordinary += 1;
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const put = ({ path = PATH, body = update(), headers = {} }: Put, contentType = PLAIN) =>
      send(url, 'PUT', path, {
        headers: { authorization, 'content-type': contentType, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    const seed = {
      users: [{ id: 'ada' }, { id: 'bob' }, { id: 'eve', status: 'deleted' }, { id: 'a.b~c:d@e-f_g' }],
    };
    const members = ['ada', 'eve', 'a.b~c:d@e-f_g'];
    await appCase.call('POST', '/v1/batch', {
      payload: { ...seed, groups: [{ id: 'g', name: 'G', members }] },
    });
    // The first look at a token goes the ordinary way.
    await put({}, ORDINARY);
    await use({ ...appCase, url, ordinary: () => ordinary, put });
  });
}

/** All of an answer but what no two have alike. */
function comparable({ status, headers, text }: Answer): object {
  const { date, 'x-request-id': id, ...others } = headers;
  assert.ok(date !== undefined && id !== undefined);
  return { status, headers: others, names: Object.keys(headers).sort(), text };
}

const CARRIED_OUT: readonly [string, Put][] = [
  ['present', {}],
  ['absent', { body: update({ absent: true }) }],
  ['durable', { body: update({ durable: true }) }],
  ['by the older name of the group', { body: update({ groupID: undefined, organizationID: 'g' }) }],
  ['of an ID with every plain character', { path: '/v1/users/a.b~c:d@e-f_g/presence' }],
  ['in a body with spaces and a byte order mark', { body: `\ufeff ${JSON.stringify(update(), null, 2)}\n` }],
  ['refused: no such user', { path: '/v1/users/nobody/presence' }],
  ['refused: a user who is set deleted', { path: '/v1/users/eve/presence' }],
  ['refused: no member', { path: '/v1/users/bob/presence' }],
  ['refused: no such group', { body: update({ groupID: 'nowhere "Ü"' }) }],
];

const LEFT: readonly [string, Put][] = [
  ['no JSON', { body: '{' }],
  ['JSON that is no object', { body: '[]' }],
  ['an empty body', { body: '' }],
  ['bytes that are no UTF-8', { body: '{"groupID":"\ud800"}' }],
  ['a field that is missing', { body: {} }],
  ['a field that is not known', { body: update({ hat: 'red' }) }],
  ['a field that does not fit', { body: update({ location: { page: 7 } }) }],
  ['fields that do not fit together', { body: update({ exclusiveWithin: { page: 'outro' } }) }],
  ['absent and durable', { body: update({ absent: true, durable: true }) }],
  ['an ID that is escaped', { path: '/v1/users/%61da/presence' }],
  ['an ID that is too long', { path: `/v1/users/${'a'.repeat(321)}/presence` }],
  ['an ID that is not ASCII', { path: '/v1/users/%C3%9C/presence' }],
  ['a query', { path: `${PATH}?x=1` }],
  ['a body that is packed', { headers: { 'content-encoding': 'gzip' } }],
  ['a large body', { body: JSON.stringify(update()) + ' '.repeat(20_000) }],
];

describe('an update of presence that is plain', () => {
  for (const [what, request] of CARRIED_OUT) {
    test(`${what}: answered as the framework would, without it`, () =>
      withServer({}, async ({ put, ordinary }) => {
        const before = ordinary();
        const quick = await put(request);
        assert.equal(ordinary(), before);
        const slow = await put(request, ORDINARY);
        assert.equal(ordinary(), before + 1);
        assert.deepEqual(comparable(quick), comparable(slow));
        assert.equal(quick.status === 200, !what.startsWith('refused'));
      }));
  }

  test('does what it says', () =>
    withServer({}, async ({ put, call }) => {
      await put({});
      const { body } = await call('GET', '/v1/users/ada/presence?groupID=g');
      assert.deepEqual(JSON.parse(body), { id: 'ada', ephemeral: { locations: [update().location] } });
    }));

  test('has the ID of its request, and is counted', () =>
    withServer({}, async ({ put, app }) => {
      const answer = await put({ headers: { 'x-request-id': 'r-1' } });
      assert.equal(answer.headers['x-request-id'], 'r-1');
      await put({ path: '/v1/users/nobody/presence' });
      const { body } = await app.inject('/metrics');
      const count = (status: number) =>
        `rollcall_http_request_duration_seconds_count{method="PUT",route="/v1/users/:id/presence",status="${status}"}`;
      assert.ok(body.includes(`${count(200)} 2\n`), 'this one and the first, in one series');
      assert.ok(body.includes(`${count(401)} 1\n`));
    }));

  test('whose engine is away is answered 503 with Retry-After, and logged with its ID', async () => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
    let isAway = false;
    const disturb: AppOptions['disturb'] = ({ presence }) => ({
      presence: altered(presence, {
        set(place) {
          if (isAway) return Promise.reject(new StoreUnavailableError('Redis is away'));
          return presence.set(place);
        },
      }),
    });
    await withServer({ disturb, log }, async ({ clock, put, ordinary }) => {
      isAway = true;
      const before = ordinary();
      const quick = await put({ headers: { 'x-request-id': 'r-7' } });
      assert.equal(ordinary(), before);
      assert.deepEqual(
        comparable(quick),
        comparable(await put({ headers: { 'x-request-id': 'r-7' } }, ORDINARY)),
      );
      assert.equal(quick.status, 503);
      // The second failure of the same kind is written with the next line.
      clock.move(2_000);
      const [one, other] = lines.map((line) => {
        const { level, method, route, reqId, msg, err } = JSON.parse(line);
        return { level, method, route, reqId, msg, message: err.message };
      });
      assert.deepEqual(one, other);
      assert.equal(one?.reqId, 'r-7');
    });
  });

  test('may come in pieces, several on one connection, and be left unfinished', () =>
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
      const count = 'count{method="PUT",route="/v1/users/:id/presence",status="400"} 1';
      for (let metrics = ''; !metrics.includes(count); ) metrics = (await app.inject('/metrics')).body;
    }));
});

describe('whoever hangs up', () => {
  test('while the answer is under way is counted once', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    let isHeld = false;
    const disturb: AppOptions['disturb'] = ({ presence }) => ({
      presence: altered(presence, {
        async set(place) {
          if (isHeld) {
            isAsked();
            await held;
          }
          return presence.set(place);
        },
      }),
    });
    await withServer({ disturb }, async ({ url, app, authorization }) => {
      const body = JSON.stringify(update());
      isHeld = true;
      const gone = new Promise<void>((resolve) => {
        app.server.once('connection', (socket: Socket) => socket.once('close', () => resolve()));
      });
      const connection = new RawConnection(url);
      connection.write(
        `PUT ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      await asked;
      connection.destroy();
      await gone;
      letGo();
      const count = (status: number) =>
        `count{method="PUT",route="/v1/users/:id/presence",status="${status}"}`;
      let metrics = '';
      while (!metrics.includes(`${count(200)} 2`)) metrics = (await app.inject('/metrics')).body;
      assert.ok(!metrics.includes(count(400)));
    });
  });
});

describe('a request that is not plain goes through the framework, with its body', () => {
  for (const [what, request] of LEFT) {
    test(what, () =>
      withServer({}, async ({ put, ordinary }) => {
        const before = ordinary();
        const answer = await put(request);
        assert.equal(ordinary(), before + 1);
        assert.deepEqual(comparable(answer), comparable(await put(request, ORDINARY)));
        assert.equal((await put({})).status, 200);
        assert.equal(ordinary(), before + 2, 'the next one is plain again');
      }),
    );
  }

  for (const authorization of ['', 'Bearer x.y.z']) {
    test(`without a token that is known: "${authorization}"`, () =>
      withServer({}, async ({ put }) => {
        const answer = await put({ headers: { authorization } });
        assert.equal(answer.status, 401);
        assert.deepEqual(comparable(answer), comparable(await put({ headers: { authorization } }, ORDINARY)));
      }));
  }

  test('all do where requests are limited or logged', async () => {
    const log = pino({ level: 'debug' }, { write() {} });
    for (const options of [{ log }, { settings: { rateLimitPerSecond: 1_000 } }]) {
      await withServer(options, async ({ put, ordinary }) => {
        const before = ordinary();
        assert.equal((await put({})).status, 200);
        assert.equal(ordinary(), before + 1);
      });
    }
  });

  test('a body larger than the server takes is refused as ever', () =>
    withServer({ settings: { bodyLimitBytes: 1_024 } }, async ({ put }) => {
      const location = { page: createHash('sha512').update('x').digest('hex').repeat(8) };
      const answer = await put({ body: update({ location, exclusiveWithin: undefined }) });
      assert.equal(answer.status, 413);
    }));
});
