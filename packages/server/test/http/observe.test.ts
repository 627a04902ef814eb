import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { pino } from 'pino';
import type { Engine } from '../../src/wiring.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { until } from '../support/waiting.ts';
import { altered, send, withApp } from './app-case.ts';

interface Line {
  readonly level: number;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly reqId: string;
  readonly projectId?: string;
}

suite('the log of requests', () => {
  const linesOf = async (level: string, url: string, headers = {}) => {
    const texts: string[] = [];
    const log = pino({ level }, { write: (text) => void texts.push(text) });
    await withApp({ log }, ({ call }) => call('GET', url, { headers }));
    return { texts, lines: texts.map((text) => JSON.parse(text) as Line) };
  };

  test('a request logs one debug line, without its query, its headers and its token', async () => {
    const { texts, lines } = await linesOf('debug', '/v1/groups?limit=5', { 'x-request-id': 'r-1' });
    assert.equal(lines.length, 1);
    const { ms, ...line } = lines[0] as Line;
    const { level, method, path, status, reqId, projectId } = line;
    assert.deepEqual(
      { level, method, path, status, reqId, projectId },
      { level: 20, method: 'GET', path: '/v1/groups', status: 200, reqId: 'r-1', projectId: 'wiki' },
    );
    assert.ok(ms >= 0);
    assert.doesNotMatch(texts.join(''), /limit=5|Bearer|eyJ/);
  });

  for (const url of ['/v1/nowhere', '/v1/groups/%ZZ']) {
    test(`${url}, which no route matches, logs a debug line too`, async () => {
      const { lines } = await linesOf('debug', url);
      assert.deepEqual(
        lines.map(({ path }) => path),
        [url],
      );
    });
  }

  test('a request whose connection ends while its token is verified logs its debug line too', async () => {
    const texts: string[] = [];
    const log = pino({ level: 'debug' }, { write: (text) => void texts.push(text) });
    const verified = Promise.withResolvers<void>();
    const disturb = ({ store }: Engine) => ({
      store: altered(store, {
        projects: { find: (id: string) => verified.promise.then(() => store.projects.find(id)) },
      }),
    });
    await withApp({ log, disturb }, async ({ app, authorization }) => {
      const connection = new RawConnection(await app.listen({ host: '127.0.0.1', port: 0 }));
      const [accepted] = (await once(app.server, 'connection')) as [Socket];
      const arrived = once(app.server, 'request');
      const head = ['PUT /v1/users/u HTTP/1.1', 'Host: x', `Authorization: ${authorization}`];
      const body = ['Content-Type: application/json', 'Content-Length: 10', '', '{"name":'];
      connection.write([...head, ...body].join('\r\n'));
      await arrived;
      connection.destroy();
      await once(accepted, 'close');
      verified.resolve();
      await until('the debug line', () => texts.some((text) => text.includes('"path":"/v1/users/u"')));
    });
  });

  test('a list whose client disconnects before its end logs its debug line too', async () => {
    const texts: string[] = [];
    const log = pino({ level: 'debug' }, { write: (text) => void texts.push(text) });
    const gone = Promise.withResolvers<void>();
    async function* listAll() {
      yield { items: '{"id":"a"}', count: 1, last: 'a' };
      await gone.promise;
      yield { items: '{"id":"b"}', count: 1, last: null };
    }
    const disturb = ({ store }: Engine) => ({ store: altered(store, { groups: { listAll } }) });
    await withApp({ log, disturb }, async ({ app, authorization }) => {
      const connection = new RawConnection(await app.listen({ host: '127.0.0.1', port: 0 }));
      const [accepted] = (await once(app.server, 'connection')) as [Socket];
      connection.write(`GET /v1/groups HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
      await connection.received((text) => text.includes('{"id":"a"}'));
      connection.destroy();
      await once(accepted, 'close');
      gone.resolve();
      await until('the debug line', () => texts.some((text) => text.includes('"path":"/v1/groups"')));
      assert.equal(texts.length, 1);
    });
  });

  test('a request logs no line at level info', async () => {
    assert.deepEqual((await linesOf('info', '/v1/groups')).lines, []);
  });
});

suite('the metrics of requests', () => {
  test('requests are counted in /metrics by method, route and status, never by path', () =>
    withApp({}, async ({ app, call }) => {
      await call('GET', '/v1/groups/secret-name');
      await call('PUT', '/v1/users/u', { payload: {} });
      await call('GET', '/secret-path');
      const { body } = await send(app, '/metrics');
      const count = (labels: string) => `rollcall_http_request_duration_seconds_count{${labels}} 1`;
      for (const labels of [
        'method="GET",route="/v1/groups/:id",status="401"',
        'method="PUT",route="/v1/users/:id",status="200"',
        'method="any",route="unmatched",status="404"',
      ]) {
        assert.ok(body.includes(count(labels)), labels);
      }
      assert.doesNotMatch(body, /secret/);
      assert.match(body, /process_resident_memory_bytes \d/);
    }));

  test('the durations of requests are a histogram in /metrics, whose buckets grow up to the count', () =>
    withApp({}, async ({ app }) => {
      for (let n = 0; n < 3; n += 1) await send(app, '/healthz');
      const { body } = await send(app, '/metrics');
      const buckets = [
        ...body.matchAll(/_bucket\{method="GET",route="\/healthz",status="200",le="[^"]+"\} (\d+)/g),
      ];
      const counts = buckets.map(([, count]) => Number(count));
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => a - b),
      );
      assert.equal(counts.at(-1), 3);
    }));
});

suite('x-request-id', () => {
  const answered = (given: string | undefined, url = '/healthz') =>
    withApp({}, async ({ app }) => {
      const headers = given === undefined ? {} : { 'x-request-id': given };
      return String((await send(app, { url, headers })).headers['x-request-id']);
    });

  test('an x-request-id of 1 to 128 visible ASCII characters is returned', async () => {
    for (const id of ['a', '!~', 'x'.repeat(128)]) assert.equal(await answered(id), id);
  });

  test('any other x-request-id is replaced by a new one', async () => {
    for (const id of [undefined, '', 'a b', 'é', 'x'.repeat(129)]) {
      const own = await answered(id);
      assert.match(own, /^[\x21-\x7e]{1,128}$/);
      assert.notEqual(own, id);
    }
  });

  test('x-request-id is on every answer: unknown paths, wrong methods and malformed paths too', async () => {
    for (const url of ['/nowhere', '/v1/authorize', '/v1/groups/%ZZ']) {
      assert.equal(await answered('mine', url), 'mine');
    }
  });
});
