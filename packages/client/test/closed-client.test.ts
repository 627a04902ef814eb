/** What ends while the client connects stays ended. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import { errorBody, respond, respondDone, type Script, withAnnouncer } from './support/scripted-server.ts';
import { withScriptedSocket } from './support/scripted-socket.ts';

/** An open socket that nothing uses is closed after a second. */
const IDLE_MS = 1_000;
/** A token that could not be renewed is requested again after this time. */
const RENEW_AGAIN_MS = 10_000;
const LOCATION = { page: 'a' };
/** `close()` waits for absences for two seconds. */
const LEAVE_TIMEOUT_MS = 2_000;

/** A token that comes when the test says so, each time that it is requested. */
function heldToken() {
  const waiting: ((token: string) => void)[] = [];
  return {
    token: () => new Promise<string>((resolve) => waiting.push(resolve)),
    requested: () => waiting.length,
    release: () => {
      for (const resolve of waiting.splice(0)) resolve('a.b.c');
    },
  };
}

/** Waits for 50 rounds of the event loop: what follows a step has happened by then. */
async function settled(): Promise<void> {
  for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('a client that is closed', () => {
  // The first of this file: those that move the clock leave timers behind.
  test('a client that is closed while it watches and announces has no timer for which a process waits', async () => {
    await withScriptedSocket(
      () => true,
      async ({ client }) => {
        const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
        const announcement = client.presence.announce({ location: LOCATION });
        const watching = Array.fromAsync(client.presence.watch());
        await until('the client is connected', () => client.status.get().state === 'open');
        await client.close();
        await Promise.all([announcement.ended, watching]);
        await settled();
        assert.equal(timers(), 0);
      },
    );
  });

  test('a client that is closed while its token is fetched opens no socket, and its status is closed', async () => {
    const { token, requested, release } = heldToken();
    await withScriptedSocket(
      () => true,
      async ({ client, opened }) => {
        const next = client.presence.watch().next();
        await until('the token is requested', () => requested() === 1);
        await client.close();
        release();
        assert.equal((await next).done, true);
        await settled();
        assert.equal(opened(), 0);
        assert.deepEqual(client.status.get(), { state: 'closed', reason: null });
      },
      { token },
    );
  });

  test('a client that is closed announces nothing, watches nothing, rejects calls with aborted, and requests no token', async () => {
    const { token, requested } = heldToken();
    await withScriptedSocket(
      () => true,
      async ({ client, opened }) => {
        await client.close();
        const announcement = client.presence.announce({ location: LOCATION });
        assert.equal(await announcement.ended, null);
        assert.equal((await client.presence.watch().next()).done, true);
        await assert.rejects(client.viewer(), { code: 'aborted' });
        await settled();
        assert.deepEqual([requested(), opened()], [0, 0]);
        assert.equal(client.status.get().state, 'closed');
      },
      { token },
    );
  });

  test('a watch that ends while its token is fetched leaves no socket open, and the next watch opens one', async (context) => {
    const { token, requested, release } = heldToken();
    await withScriptedSocket(
      () => true,
      async ({ client, opened }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        const watch = client.presence.watch();
        const next = watch.next();
        await until('the token is requested', () => requested() === 1);
        await watch.return();
        await next;
        context.mock.timers.tick(IDLE_MS);
        release();
        await settled();
        assert.equal(opened(), 0);
        assert.equal(client.status.get().state, 'connecting');
        assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
        assert.equal(opened(), 1);
      },
      { token },
    );
  });

  test('a watch that ends while the socket opens does not make the client use HTTP', async (context) => {
    const upgrades: (() => void)[] = [];
    const requests: string[] = [];
    await withScriptedSocket(
      () => true,
      async ({ client, opened }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        const watch = client.presence.watch();
        const next = watch.next();
        await until('the socket opens', () => upgrades.length === 1);
        await watch.return();
        await next;
        context.mock.timers.tick(IDLE_MS);
        await settled();
        const again = client.presence.watch().next();
        await until('another socket opens', () => upgrades.length === 2);
        upgrades[1]?.();
        assert.equal((await again).value?.type, 'snapshot');
        assert.equal(opened(), 1);
        assert.deepEqual(requests, []);
      },
      {
        onUpgrade: (open) => upgrades.push(open),
        onRequest: ({ url = '' }, response) => {
          requests.push(url);
          response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
        },
      },
    );
  });

  test('a client that is closed while the renewal of its token waits to be repeated requests no token any more', async (context) => {
    let requested = 0;
    const token = () => {
      requested += 1;
      if (requested > 1) throw new Error('status 500');
      return 'a.b.c';
    };
    await withScriptedSocket(
      ({ op, send }) => {
        if (op === 'auth') setImmediate(send, { event: 'expiring', in: 60 });
        return true;
      },
      async ({ client }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        await client.presence.watch().next();
        await until('the renewal has failed', () => {
          context.mock.timers.tick(1);
          return requested === 2;
        });
        await settled();
        await client.close();
        context.mock.timers.tick(RENEW_AGAIN_MS);
        await settled();
        assert.equal(requested, 2);
      },
      { token },
    );
  });

  test('an announcement ends with close() although its absence waits to be sent again', async (context) => {
    const script: Script = (request, index) => {
      if (index === 0) respondDone(request, index);
      else respond(request, 503, errorBody('error'), { 'retry-after': '5' });
    };
    await withAnnouncer(script, { location: LOCATION }, async (announce, server, rollcall) => {
      context.mock.timers.enable({ apis: ['setTimeout'] });
      const announcement = announce();
      let isEnded = false;
      void announcement.ended.then(() => {
        isEnded = true;
      });
      await until('the user is present', () => rollcall.status.get().state === 'open');
      const closed = rollcall.close();
      await server.arrived(2);
      await until('the absence waits', () => rollcall.status.get().state === 'reconnecting');
      context.mock.timers.tick(LEAVE_TIMEOUT_MS);
      await closed;
      await settled();
      context.mock.timers.tick(5_000);
      await settled();
      context.mock.timers.reset();
      assert.equal(isEnded, true);
      assert.equal(server.received.length, 2);
    });
  });

  test('an announcement that begins while the client closes ends with it', async (context) => {
    const script: Script = (request, index) => index === 0 && respondDone(request, index);
    await withAnnouncer(script, { location: LOCATION }, async (announce, server, rollcall) => {
      context.mock.timers.enable({ apis: ['setTimeout'] });
      announce();
      await until('the user is present', () => rollcall.status.get().state === 'open');
      const closed = rollcall.close();
      await server.arrived(2);
      let isEnded = false;
      void announce({ location: { page: 'b' } }).ended.then(() => {
        isEnded = true;
      });
      context.mock.timers.tick(LEAVE_TIMEOUT_MS);
      await closed;
      await settled();
      context.mock.timers.reset();
      assert.equal(isEnded, true);
    });
  });
});
