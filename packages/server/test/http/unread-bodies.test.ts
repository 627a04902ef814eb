/** Answers that leave before the body of their request has arrived. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Engine } from '../../src/wiring.ts';
import { RawConnection, statuses } from '../support/raw-connection.ts';
import { type AppCase, altered, withApp } from './app-case.ts';

const head = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n`;

const withServer = (use: (url: string, appCase: AppCase) => Promise<void>) =>
  withApp({}, async (appCase) => use(await appCase.app.listen({ host: '127.0.0.1', port: 0 }), appCase));

const LONG = 'Content-Length: 10000000';

describe('an answer before a long body', () => {
  const cases: readonly [what: string, text: (appCase: AppCase) => string, status: number][] = [
    ['401 without a token', () => head('PUT /v1/groups/g', LONG), 401],
    ['404 for an unknown path', () => head('PUT /v1/nowhere/at/all', LONG), 404],
    ['405 for a wrong method', () => head('PATCH /v1/groups/g', LONG), 405],
    ['404 for a chunked body', () => head('PUT /v1/nowhere/at/all', 'Transfer-Encoding: chunked'), 404],
    [
      '413 for a body over the limit',
      ({ authorization }) => head('PUT /v1/users/u', LONG, `Authorization: ${authorization}`),
      413,
    ],
    ['200 to a GET, which ignores its body', () => head('GET /healthz', LONG), 200],
  ];
  for (const [what, text, status] of cases) {
    test(`${what} has Connection: close, and the connection ends while the client keeps sending`, () =>
      withServer(async (url, appCase) => {
        const connection = new RawConnection(url);
        connection.write(`${text(appCase)}{"name":`);
        const sending = setInterval(() => connection.write('x'.repeat(1_000)), 5);
        const answer = await connection.closed();
        clearInterval(sending);
        assert.deepEqual(statuses(answer), [status]);
        assert.match(answer, /\r\nConnection: close\r\n/i);
        assert.match(answer, /\r\nx-request-id: /i);
      }));
  }
});

describe('an answer before a short body', () => {
  test('an answer before a short body leaves the connection open for the next request when the body arrives', () =>
    withServer(async (url) => {
      const connection = new RawConnection(url);
      for (const text of [
        head('PUT /v1/groups/g', 'Content-Length: 2'),
        head('POST /healthz', 'Content-Length: 2'),
      ]) {
        connection.write(`${text}{}`);
        connection.write(text);
        connection.write('{}');
      }
      const answer = await connection.received((sofar) => statuses(sofar).length === 4);
      assert.deepEqual(statuses(answer), [401, 401, 405, 405]);
      assert.doesNotMatch(answer, /\r\nConnection: close\r\n/i);
      connection.destroy();
    }));

  test('an answer before a short body closes the connection some seconds later when the body does not arrive', () =>
    withServer(async (url) => {
      const connection = new RawConnection(url);
      connection.write(head('PUT /v1/groups/g', 'Content-Length: 20'));
      assert.deepEqual(statuses(await connection.closed()), [401]);
    }));

  test('a connection whose short body arrives after the answer stays open for longer than one whose body does not arrive', () =>
    withServer(async (url) => {
      const late = new RawConnection(url);
      late.write(head('PUT /v1/groups/g', 'Content-Length: 2'));
      await late.received((sofar) => statuses(sofar).length === 1);
      late.write('{}');
      const absent = new RawConnection(url);
      absent.write(head('PUT /v1/groups/g', 'Content-Length: 20'));
      await absent.closed();
      late.write(head('GET /healthz'));
      const answers = await late.received((sofar) => statuses(sofar).length === 2);
      late.destroy();
      assert.deepEqual(statuses(answers), [401, 200]);
    }));

  test('a short body that does not arrive does not cut off the answer to a request before its own', async () => {
    const reading = Promise.withResolvers<void>();
    const disturb = ({ store }: Engine) => ({
      store: altered(store, {
        users: { find: (project, id) => reading.promise.then(() => store.users.find(project, id)) },
      }),
    });
    await withApp({ disturb }, async ({ app, authorization }) => {
      const url = await app.listen({ host: '127.0.0.1', port: 0 });
      const withoutBody = head('PUT /v1/groups/g', 'Content-Length: 20');
      const connection = new RawConnection(url);
      connection.write(head('GET /v1/users/u', `Authorization: ${authorization}`) + withoutBody);
      // Another connection is closed after as long as this one must stay open.
      const closed = new RawConnection(url);
      closed.write(withoutBody);
      await closed.closed();
      reading.resolve();
      const answers = await connection.received((sofar) => statuses(sofar).length === 2);
      connection.destroy();
      assert.deepEqual(statuses(answers), [401, 401]);
    });
  });
});

test('an answer after a long body that has arrived leaves the connection open for the next request', () =>
  withServer(async (url, { authorization }) => {
    const connection = new RawConnection(url);
    const body = `{"name":"Ada"}${' '.repeat(100_000)}`;
    const text = `${head('PUT /v1/users/u', `Content-Length: ${body.length}`, `Authorization: ${authorization}`)}${body}`;
    for (const count of [1, 2]) {
      connection.write(text);
      await connection.received((sofar) => statuses(sofar).length === count);
    }
    const answer = await connection.received(() => true);
    assert.deepEqual(statuses(answer), [200, 200]);
    assert.doesNotMatch(answer, /\r\nConnection: close\r\n/i);
    connection.destroy();
  }));
