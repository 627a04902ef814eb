/** Tokens that cannot be had for a while: the client goes on until the server has ended the token, and after that. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import { RollcallClient } from '../src/index.ts';
import { accept, type SocketScript, withScriptedSocket } from './support/scripted-socket.ts';

const RENEW_AGAIN_MS = 10_000;

/** Tokens of a page: each call takes the next one; an error is thrown, and what follows the last one is it again. */
function tokens(...all: readonly (string | Error)[]) {
  let calls = 0;
  const token = async () => {
    const next = all[Math.min(calls, all.length - 1)] as string | Error;
    calls += 1;
    if (next instanceof Error) throw next;
    return next;
  };
  return { token, calls: () => calls };
}

/** The server reports the end of the first token. */
const expiring: SocketScript = ({ op, send }, index) => {
  if (op === 'auth' && index === 0) setImmediate(send, { event: 'expiring', in: 60 });
  return true;
};

const away = new Error('status 500');

describe('the renewal of a token', () => {
  test('a token that cannot be renewed is requested again until it can, and the socket stays open', async (context) => {
    const { token, calls } = tokens('the.first.token', away, away, 'the.second.token');
    await withScriptedSocket(
      expiring,
      async ({ client, of, opened }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        await client.presence.watch().next();
        for (const count of [2, 3, 4]) {
          await until(`token ${count} was requested`, () => {
            context.mock.timers.tick(calls() === 1 ? 1 : RENEW_AGAIN_MS / 10);
            return calls() === count;
          });
        }
        await until('the socket has the second token', () => of('auth').at(-1)?.token === 'the.second.token');
        assert.equal(opened(), 1);
        assert.deepEqual(client.status.get(), { state: 'open', reason: null });
      },
      { token },
    );
  });

  test('a token that lives for some seconds is renewed before its end, also where one of the requests for it fails', async (context) => {
    const { token, calls } = tokens('the.first.token', 'the.second.token', away, 'the.third.token');
    const script: SocketScript = (frame) => {
      accept(frame);
      if (frame.op === 'auth') frame.send({ event: 'expiring', in: 6 });
      return false;
    };
    await withScriptedSocket(
      script,
      async ({ client, of }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        await client.presence.watch().next();
        await until('the socket has the second token', () => {
          context.mock.timers.tick(1);
          return of('auth').length === 2;
        });
        // Its snapshot comes behind what is sent of the token's end.
        await client.presence.watch().next();
        let passedMs = 0;
        await until('the third token was requested', () => {
          context.mock.timers.tick(100);
          passedMs += 100;
          return calls() === 4;
        });
        assert.ok(passedMs < 6_000, `${passedMs} ms`);
      },
      { token },
    );
  });

  for (const [what, event, answerMs, leastMs] of [
    ['without the time that is left, every ten seconds', {}, 0, RENEW_AGAIN_MS],
    ['with no time left, every second', { in: 0 }, 0, 1_000],
    ['that comes late, ten seconds after its answer', { in: 60 }, 9_000, 19_000],
  ] as const) {
    test(`after an event of the end of a token ${what}, at most, another token is requested`, async (context) => {
      let nowMs = 0;
      const requestedAt: number[] = [];
      const token = async () => {
        requestedAt.push(nowMs);
        if (requestedAt.length > 1) await new Promise((resolve) => setTimeout(resolve, answerMs));
        return 'a.b.c';
      };
      const script: SocketScript = (frame) => {
        accept(frame);
        if (frame.op === 'auth') frame.send({ event: 'expiring', ...event });
        return false;
      };
      await withScriptedSocket(
        script,
        async ({ client }) => {
          context.mock.method(performance, 'now', () => nowMs);
          context.mock.timers.enable({ apis: ['setTimeout'] });
          await client.presence.watch().next();
          for (const count of [2, 3, 4]) {
            await until(`token ${count} was requested`, () => {
              nowMs += 100;
              context.mock.timers.tick(100);
              return requestedAt.length === count;
            });
          }
          const [, , third = 0, fourth = 0] = requestedAt;
          assert.ok(fourth - third >= leastMs, `${fourth - third} ms`);
        },
        { token, timeoutMs: 60_000 },
      );
    });
  }

  test('a client that has one token alone sends it once, also when it ends soon', async (context) => {
    await withScriptedSocket(
      expiring,
      async ({ client, of }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        await client.presence.watch().next();
        context.mock.timers.tick(1);
        await client.presence.watch().next();
        assert.deepEqual(
          of('auth').map((frame) => frame.token),
          ['the.only.token'],
        );
      },
      { token: 'the.only.token' },
    );
  });

  test('a token that cannot be renewed is used for requests until the server rejects it', async () => {
    const { token, calls } = tokens('the.first.token', away);
    await withScriptedSocket(
      expiring,
      async ({ client }) => {
        await client.presence.watch().next();
        await until('the renewal failed', () => calls() === 2);
        await assert.rejects(client.viewer({ retries: 0 }), { status: 404 });
      },
      { token },
    );
  });

  test('a socket whose token has ended while no other could be had is open again when there is one', async () => {
    const { token, calls } = tokens('the.first.token', away, away, 'the.second.token');
    await withScriptedSocket(
      expiring,
      async ({ client, of }) => {
        const watch = client.presence.watch();
        await watch.next();
        await until('the renewal failed', () => calls() === 2);
        const states: string[] = [];
        client.status.subscribe(() => states.push(client.status.get().state));
        of('auth')[0]?.ws.close(4401, 'the token has ended');
        assert.equal((await watch.next()).value?.type, 'snapshot');
        assert.equal(of('auth').at(-1)?.token, 'the.second.token');
        assert.deepEqual(new Set(states), new Set(['reconnecting', 'open']));
      },
      { token },
    );
  });

  test('a token that is rejected is replaced, also where it was renewed while another one was requested', async () => {
    const requested: ((token: string) => void)[] = [];
    const token = () => new Promise<string>((resolve) => requested.push(resolve));
    const answer = (index: number, text: string) =>
      until(`token ${text} is requested`, () => requested[index] !== undefined).then(() =>
        requested[index]?.(text),
      );
    const rejected = new Set<string>();
    const onRequest: RequestListener = ({ headers }, response) => {
      const [, used = ''] = String(headers.authorization).split(' ');
      const isRejected = rejected.has(used);
      response.writeHead(isRejected ? 401 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isRejected ? { error: 'invalid_access_token', message: used } : { used }));
    };
    await withScriptedSocket(
      expiring,
      async ({ client, of }) => {
        const used = async () => (await client.viewer({ retries: 0 })) as unknown as { used: string };
        const watching = client.presence.watch().next();
        await answer(0, 'the.first.token');
        await watching;
        await until('the renewal has begun', () => requested.length === 2);
        rejected.add('the.first.token');
        const reading = used();
        await until('another token is requested', () => requested.length === 3);
        await answer(1, 'the.renewed.token');
        await until('the socket has it', () => of('auth').at(-1)?.token === 'the.renewed.token');
        await answer(2, 'the.late.token');
        assert.deepEqual(await reading, { used: 'the.late.token' });
        for (const name of ['the.first.token', 'the.renewed.token', 'the.late.token']) rejected.add(name);
        const next = used();
        await Promise.race([answer(3, 'the.next.token'), next]);
        assert.deepEqual(await next, { used: 'the.next.token' });
      },
      { token, onRequest },
    );
  });

  test('a token that ends while the server cannot be reached is replaced, also where it has replaced a rejected one', async () => {
    const { token } = tokens('the.first.token', 'the.second.token', 'the.third.token');
    const script: SocketScript = ({ op, ref, send, ws }, index) => {
      if (op !== 'auth' || index > 2) return true;
      if (index === 1) ws.terminate();
      else send({ ref, error: 'invalid_project_token', message: 'the token has ended' });
      return false;
    };
    await withScriptedSocket(
      script,
      async ({ client, of }) => {
        assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
        const used = ['the.first.token', 'the.second.token', 'the.second.token', 'the.third.token'];
        assert.deepEqual(
          of('auth').map((frame) => frame.token),
          used,
        );
      },
      { token },
    );
  });

  test('a page whose token endpoint answers an error page has no token, and connects when there is one', async () => {
    // As Express answers with `sendStatus(401)` to a user who is logged out.
    const { token } = tokens('Internal Server Error', 'Unauthorized', 'Unauthorized', 'a.good.token');
    await withScriptedSocket(
      () => true,
      async ({ client, of }) => {
        assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
        assert.deepEqual(
          of('auth').map((frame) => frame.token),
          ['a.good.token'],
        );
      },
      { token },
    );
  });

  test('a request without a token rejects with network, and names the reason', async () => {
    for (const wrong of [
      '',
      'Internal Server Error',
      'Unauthorized',
      'a.b',
      '<a.b.c>',
      undefined,
      null,
      { token: 't' },
    ]) {
      const client = new RollcallClient({ url: 'http://127.0.0.1:9', token: () => wrong as string });
      await assert.rejects(client.viewer({ retries: 0 }), { code: 'network', message: /there is no token/ });
      await client.close();
    }
  });
});
