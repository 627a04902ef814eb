import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import { ProjectGoneError, StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { altered, send, withApp } from './app-case.ts';

const SECRET = 'SELECT secret FROM projects';

const failingFind =
  (error: Error) =>
  ({ store }: Engine) => ({
    store: altered(store, { groups: { find: () => Promise.reject(error) } }),
  });

const collecting = (lines: string[]) => pino({ level: 'info' }, { write: (line) => void lines.push(line) });

suite('what fails on our side', () => {
  test('an unexpected failure is 500 with a fixed message, and the log has the cause under the request ID', async () => {
    const lines: string[] = [];
    const options = { disturb: failingFind(new Error(SECRET)), log: collecting(lines) };
    await withApp(options, async ({ call }) => {
      const answer = await call('GET', '/v1/groups/g', { headers: { 'x-request-id': 'mine' } });
      assert.equal(answer.statusCode, 500);
      assert.equal(answer.json().error, 'error');
      assert.doesNotMatch(answer.body, /SELECT/);
      const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 50);
      assert.equal(logged.reqId, 'mine');
      assert.match(logged.err.stack, /SELECT secret/);
    });
  });

  test('a request while the store is away is 503 with Retry-After', () =>
    withApp({ disturb: failingFind(new StoreUnavailableError(SECRET)) }, async ({ call }) => {
      const answer = await call('GET', '/v1/groups/g');
      assert.equal(answer.statusCode, 503);
      assert.equal(answer.json().error, 'error');
      assert.match(String(answer.headers['retry-after']), /^\d+$/);
      assert.doesNotMatch(answer.body, /SELECT/);
    }));

  test('a request whose project was deleted after its token was checked is that token failure', () => {
    const disturb = ({ store }: Engine) => ({
      store: altered(store, {
        users: { put: () => Promise.reject(new ProjectGoneError()) },
      }),
    });
    return withApp({ disturb }, async ({ call }) => {
      const answer = await call('PUT', '/v1/users/u', { payload: {} });
      assert.equal(answer.statusCode, 401);
      assert.equal(answer.json().error, 'project_not_found');
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
    });
  });

  for (const port of ['store', 'presence', 'broker'] as const) {
    test(`/readyz is 503 and names the ${port} that does not answer; /healthz stays 200`, () => {
      const disturb = (engine: Engine) => ({
        [port]: altered(engine[port], { ping: () => Promise.reject(new StoreUnavailableError('away')) }),
      });
      return withApp({ disturb }, async ({ app }) => {
        const ready = await send(app, '/readyz');
        assert.equal(ready.statusCode, 503);
        assert.match(ready.json().message, new RegExp(`^${port} `));
        assert.equal((await send(app, `/readyz?exclude=${port}`)).statusCode, 200);
        const others = ['store', 'presence', 'broker'].filter((name) => name !== port);
        const without = await send(app, `/readyz?exclude=${others.join('&exclude=')}`);
        assert.equal(without.statusCode, 503);
        assert.equal((await send(app, '/healthz')).statusCode, 200);
      });
    });
  }

  for (const query of [
    'exclude=redis',
    'exclude=',
    'exclude=presence,broker',
    `exclude=${'store&exclude='.repeat(3)}store`,
  ]) {
    test(`/readyz?${query} is invalid_field, and the message lists what can be excluded`, () =>
      withApp({}, async ({ app }) => {
        const answer = await send(app, `/readyz?${query}`);
        assert.equal(answer.statusCode, 400);
        assert.equal(answer.json().error, 'invalid_field');
        assert.match(answer.json().message, /query parameter exclude.*"store" or "presence" or "broker"/);
      }));
  }

  for (const [method, error, logged] of [
    ['order', new Error('no permission'), ['changes could not be ordered']],
    ['removeBefore', new Error('no permission'), ['old records of changes could not be removed']],
    ['order', new StoreUnavailableError('away'), []],
    ['removeBefore', new StoreUnavailableError('away'), []],
  ] as const) {
    const title = `what of the record of changes fails by itself (${method}) ${logged.length === 0 ? 'is no line of the log while the store is away' : 'is a line of the log'}`;
    test(title, async () => {
      const lines: string[] = [];
      const { promise: hasFailed, resolve: fail } = Promise.withResolvers<void>();
      const fails = () => {
        fail();
        return Promise.reject(error);
      };
      const disturb = ({ store }: Engine) => ({ store: altered(store, { changes: { [method]: fails } }) });
      await withApp({ disturb, log: collecting(lines) }, async ({ clock }) => {
        clock.move(3_600_000);
        await hasFailed;
      });
      const messages = new Set(lines.map((line) => JSON.parse(line).msg.split(';')[0]));
      assert.deepEqual([...messages], logged);
    });
  }

  test('a write whose presence cannot be cleared afterwards succeeds', async () => {
    const lines: string[] = [];
    const disturb = ({ presence }: Engine) => {
      const fails = () => Promise.reject(new StoreUnavailableError('away'));
      return { presence: altered(presence, { removeUsers: fails, removeGroup: fails }) };
    };
    await withApp({ disturb, log: collecting(lines) }, async ({ call }) => {
      await call('PUT', '/v1/users/u', { payload: {} });
      await call('PUT', '/v1/groups/g', { payload: { name: 'G', members: ['u'] } });
      const left = await call('POST', '/v1/groups/g/members', { payload: { remove: ['u'] } });
      assert.equal(left.statusCode, 200);
      assert.equal((await call('DELETE', '/v1/groups/g')).statusCode, 200);
    });
    const failed = lines.map((line) => JSON.parse(line).count);
    assert.deepEqual(failed, [1, 1], 'one at once, and one when the server is closed');
  });
});
