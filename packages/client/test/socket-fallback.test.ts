/** Where no socket can be opened, and how a client finds this out. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import { type ReceivedFrame, withScriptedSocket } from './support/scripted-socket.ts';

const LOCATION = { page: 'a' };
const ANSWER_TIMEOUT_MS = 10_000;
/** Where no socket can be opened, HTTP is used for so long before the next attempt. */
const HTTP_MS = 300_000;

describe('HTTP in place of a socket', () => {
  test('an announcement is sent over HTTP as soon as no socket can be opened any more', async () => {
    let isBlocked = false;
    const updates: string[] = [];
    const onUpgrade = (open: () => void, socket: Duplex) => {
      if (isBlocked) socket.end('HTTP/1.1 426 Upgrade Required\r\n\r\n');
      else open();
    };
    const onRequest: RequestListener = (request, response) => {
      updates.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    await withScriptedSocket(
      () => true,
      async ({ client, of }) => {
        client.presence.announce({ location: LOCATION });
        await until('the user is present', () => of('present').length === 1);
        isBlocked = true;
        of('auth')[0]?.ws.terminate();
        await until(
          'the user is present over HTTP',
          () => updates.includes('PUT /v1/client/presence'),
          15_000,
        );
      },
      { onUpgrade, onRequest },
    );
  });

  test('a socket is opened again after a server stops that answers over HTTP until it is gone', async () => {
    let isStopping = false;
    const requests: string[] = [];
    const onUpgrade = (open: () => void, socket: Duplex) => {
      if (isStopping) socket.destroy();
      else open();
    };
    const onRequest: RequestListener = ({ method, url }, response) => {
      requests.push(`${method} ${url}`);
      isStopping = false;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    await withScriptedSocket(
      () => true,
      async ({ client, of, opened }) => {
        client.presence.announce({ location: LOCATION });
        await until('the user is present', () => of('present').length === 1);
        isStopping = true;
        of('auth')[0]?.ws.close(4_409, 'the server is stopping');
        await until('the user is present again', () => of('present').length === 2, 15_000);
        assert.equal(opened(), 2);
        assert.deepEqual(requests, ['GET /v1/client/viewer']);
      },
      { onUpgrade, onRequest },
    );
  });

  test('a client whose socket breaks sends no request over HTTP where the second attempt opens another one', async () => {
    let upgrades = 0;
    const requests: string[] = [];
    const onUpgrade = (open: () => void, socket: Duplex) => {
      upgrades += 1;
      if (upgrades === 2) socket.destroy();
      else open();
    };
    const onRequest: RequestListener = ({ method, url }, response) => {
      requests.push(`${method} ${url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    await withScriptedSocket(
      () => true,
      async ({ client, of }) => {
        client.presence.announce({ location: LOCATION });
        await until('the user is present', () => of('present').length === 1);
        of('auth')[0]?.ws.terminate();
        await until('the user is present again', () => of('present').length === 2, 15_000);
        assert.deepEqual([upgrades, requests], [3, []]);
      },
      { onUpgrade, onRequest },
    );
  });

  test('one answer over HTTP is enough where no socket has been open, also after the server was away', async () => {
    const requests: string[] = [];
    const onRequest: RequestListener = ({ method, url }, response) => {
      requests.push(`${method} ${url}`);
      const status = requests.length === 1 ? 503 : 200;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    };
    await withScriptedSocket(
      () => true,
      async ({ client }) => {
        client.presence.announce({ location: LOCATION });
        await until('the user is present', () => requests.includes('PUT /v1/client/presence'), 15_000);
        const [away, back, update] = requests;
        assert.deepEqual(
          [away, back, update],
          ['GET /v1/client/viewer', 'GET /v1/client/viewer', 'PUT /v1/client/presence'],
        );
      },
      { onUpgrade: (_, socket) => socket.end('HTTP/1.1 426 Upgrade Required\r\n\r\n'), onRequest },
    );
  });

  for (const status of [401, 403, 404]) {
    test(`a socket is opened as soon as a gateway knows a server again, until which it answers ${status}`, async () => {
      let isAway = true;
      const requests: string[] = [];
      const onUpgrade = (open: () => void, socket: Duplex) => {
        if (isAway) socket.end(`HTTP/1.1 ${status} Away\r\ncontent-length: 0\r\n\r\n`);
        else open();
      };
      const onRequest: RequestListener = ({ method, url }, response) => {
        requests.push(`${method} ${url}`);
        response.writeHead(status, { 'content-type': 'text/plain' }).end('page not found\n');
        isAway = false;
      };
      await withScriptedSocket(
        () => true,
        async ({ client, of }) => {
          client.presence.announce({ location: LOCATION });
          await until('the user is present', () => of('present').length === 1, 15_000);
          assert.deepEqual(requests, ['GET /v1/client/viewer']);
        },
        { onUpgrade, onRequest },
      );
    });
  }

  // A login that came too late is tried a second time: the page can have been busy.
  const ends: [string, number, (ws: ReceivedFrame['ws'], passTime: () => void) => void][] = [
    ['lets no answer through', 1, (_, passTime) => passTime()],
    ['lets no login through, so that the server closes it with 4408', 2, (ws) => ws.close(4_408)],
    ['breaks it off', 1, (ws) => ws.terminate()],
  ];
  for (const [what, attempts, end] of ends) {
    test(`HTTP is used where a proxy opens the socket and ${what}`, async (context) => {
      const requests: string[] = [];
      const onRequest: RequestListener = ({ method, url }, response) => {
        requests.push(`${method} ${url}`);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      };
      const login = ({ ws }: ReceivedFrame) => {
        end(ws, () => context.mock.timers.tick(ANSWER_TIMEOUT_MS));
        context.mock.timers.reset();
        return false;
      };
      await withScriptedSocket(
        login,
        async ({ client, opened }) => {
          context.mock.timers.enable({ apis: ['setTimeout'] });
          client.presence.announce({ location: LOCATION });
          const isPresent = () => requests.includes('PUT /v1/client/presence');
          await until('the user is present over HTTP', isPresent);
          const viewers = Array.from({ length: attempts }, () => 'GET /v1/client/viewer');
          assert.deepEqual(requests, [...viewers, 'PUT /v1/client/presence']);
          assert.equal(opened(), attempts);
        },
        { onRequest },
      );
    });
  }

  test('a page whose first login came too late, because it was busy while it loaded, uses a socket', async () => {
    const requests: string[] = [];
    const onRequest: RequestListener = ({ method, url }, response) => {
      requests.push(`${method} ${url}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    let logins = 0;
    const login = ({ ws, op }: ReceivedFrame) => {
      if (op !== 'auth') return true;
      logins += 1;
      if (logins === 1) ws.close(4_408, 'no auth came in time');
      return logins > 1;
    };
    await withScriptedSocket(
      login,
      async ({ client, of }) => {
        client.presence.announce({ location: LOCATION });
        await until('the user is present', () => of('present').length === 1, 15_000);
        assert.deepEqual(requests, ['GET /v1/client/viewer']);
      },
      { onRequest },
    );
  });

  test('a client that had a socket stays open over HTTP while it tries again, after five minutes, whether there is one', async (context) => {
    const { now } = performance;
    let aheadMs = 0;
    context.mock.method(performance, 'now', () => now.call(performance) + aheadMs);
    let isBlocked = false;
    let attempts = 0;
    const updates: string[] = [];
    const onUpgrade = (open: () => void, socket: Duplex) => {
      attempts += 1;
      if (isBlocked) socket.end('HTTP/1.1 426 Upgrade Required\r\n\r\n');
      else open();
    };
    const onRequest: RequestListener = ({ method }, response) => {
      if (method === 'PUT') updates.push(method);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    await withScriptedSocket(
      () => true,
      async ({ client, of }) => {
        const announcement = client.presence.announce({ location: LOCATION });
        await until('the user is present', () => of('present').length === 1);
        isBlocked = true;
        of('auth')[0]?.ws.terminate();
        const isOpen = () => client.status.get().state === 'open';
        await until('the user is present over HTTP', () => updates.length === 1 && isOpen(), 15_000);
        const states: string[] = [];
        client.status.subscribe(() => states.push(client.status.get().state));
        attempts = 0;
        aheadMs = HTTP_MS;
        announcement.move({ page: 'b' });
        await until('the user has moved', () => updates.length === 3, 15_000);
        assert.equal(attempts, 1);
        assert.deepEqual(states, []);
      },
      { onUpgrade, onRequest },
    );
  });

  test('a user who is not let in gets the error also where a proxy lets no socket through', async () => {
    const error = { error: 'user_not_found', message: 'user ada does not exist' };
    await withScriptedSocket(
      () => true,
      async ({ client }) => {
        await assert.rejects(client.presence.watch().next(), { code: 'user_not_found' });
        const announcement = client.presence.announce({ location: LOCATION });
        assert.equal((await announcement.ended)?.code, 'user_not_found');
      },
      {
        onUpgrade: (_, socket) => socket.end('HTTP/1.1 426 Upgrade Required\r\n\r\n'),
        onRequest: (_, response) =>
          response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(error)),
      },
    );
  });
});
