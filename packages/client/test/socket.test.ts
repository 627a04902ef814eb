import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import { withDataDir, withServer } from '../../server/test/support/server.ts';
import { until } from '../../server/test/support/waiting.ts';
import { type ConnectionStatus, Rollcall, RollcallClient } from '../src/index.ts';
import { signClientToken, signProjectToken } from '../src/server/index.ts';
import { type SocketScript, withScriptedSocket } from './support/scripted-socket.ts';

const server = oneServer();
const closed = closedAfterTests();

/** A project with ada and bob in the group `g`, and what tests do in it. */
async function scene() {
  const { id, secret } = await server.project();
  const { url } = server.running;
  const sign = { projectID: id, secret };
  const rollcall = closed(new Rollcall({ url, token: () => signProjectToken(sign) }));
  const members = ['ada', 'bob'];
  await rollcall.batch({ users: members.map((id) => ({ id })), groups: [{ id: 'g', name: 'G', members }] });
  const token = (userID: string, expiresInSeconds = 600) =>
    signClientToken({ ...sign, userID, groupID: 'g', expiresInSeconds });
  const client = (userID: string) => closed(new RollcallClient({ url, token: () => token(userID) }));
  return { url, sign, rollcall, token, client };
}

const metric = async (name: string) => {
  const { text } = await server.running.request('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
};

/** All states of the client so far. */
function statesOf({ status }: RollcallClient): ConnectionStatus[] {
  const states = [status.get()];
  status.subscribe(() => states.push(status.get()));
  return states;
}

describe('the socket of a page', () => {
  test('a socket transfers presence, threads and messages of a client at once, and closes with it', async () => {
    const { client } = await scene();
    const before = await metric('rollcall_sockets');
    const ada = client('ada');
    const presence = ada.presence.watch();
    const threads = ada.threads.watch();
    await ada.threads.create({ id: 't', name: 'T' });
    const messages = ada.threads.messages('t').watch();
    for (const watch of [presence, threads, messages]) {
      assert.equal((await watch.next()).value?.type, 'snapshot');
    }
    const announcement = ada.presence.announce({ location: { page: 'a' } });
    const arrived = (await presence.next()).value;
    assert.deepEqual([arrived?.type, arrived && 'id' in arrived && arrived.id], ['arrived', 'ada']);
    assert.equal(await metric('rollcall_sockets'), before + 1);
    assert.deepEqual(ada.status.get(), { state: 'open', reason: null });
    await ada.threads.messages('t').create({ content: [{ text: 'hello' }] });
    const written = (await messages.next()).value;
    assert.equal(written?.type === 'message' && written.message.plaintext, 'hello');
    await ada.close();
    assert.equal(await announcement.ended, null);
    assert.deepEqual(ada.status.get(), { state: 'closed', reason: null });
    await until('the socket is closed', async () => (await metric('rollcall_sockets')) === before);
  });

  test('a socket sends the latest of many fast moves, and the server accepts all that are sent', async () => {
    const { client } = await scene();
    const [ada, bob] = [client('ada'), client('bob')];
    const watch = ada.presence.watch();
    await watch.next();
    const errors: unknown[] = [];
    const region = { page: 'a' };
    const onError = (error: unknown) => errors.push(error);
    const announcement = bob.presence.announce({ location: region, exclusiveWithin: region, onError });
    for (let at = 1; at <= 500; at += 1) announcement.move({ ...region, at: `${at}` });
    for await (const event of watch) if (event.type === 'arrived' && event.location.at === '500') break;
    assert.deepEqual(errors, []);
    await announcement.leave();
    assert.equal((await ada.presence.list().toArray()).length, 0);
  });

  test('a socket is closed when nothing uses it any more, and opened when something does', async () => {
    const { client } = await scene();
    const ada = client('ada');
    const states = statesOf(ada);
    for (let round = 0; round < 2; round += 1) {
      for await (const event of ada.presence.watch()) if (event.type === 'snapshot') break;
      await until('the socket is closed', () => ada.status.get().state === 'connecting');
    }
    assert.deepEqual(
      states.map(({ state }) => state),
      ['connecting', 'open', 'connecting', 'open', 'connecting'],
    );
  });

  test('a socket gets a new token before the old one ends, and stays open', async () => {
    const { url, token } = await scene();
    // The server accepts a token for 30 seconds more, and reports its end 60 seconds before.
    const lives = [20, 600];
    const states: string[] = [];
    const client = closed(new RollcallClient({ url, token: () => token('ada', lives.shift()) }));
    client.status.subscribe(() => states.push(client.status.get().state));
    await client.presence.watch().next();
    await until('the second token was fetched', () => lives.length === 0);
    await client.viewer();
    assert.deepEqual(states, ['open']);
  });

  test('a socket of a user who is set deleted ends with user_not_found, and so do its watches and announcements', async () => {
    const { client, rollcall } = await scene();
    const ada = client('ada');
    const watch = ada.presence.watch();
    await watch.next();
    const announcement = ada.presence.announce({ location: { page: 'a' } });
    await watch.next();
    await rollcall.users.put('ada', { status: 'deleted' });
    await assert.rejects(
      async () => {
        for await (const _ of watch);
      },
      { code: 'user_not_found' },
    );
    assert.equal((await announcement.ended)?.code, 'user_not_found');
    const { state, reason } = ada.status.get();
    assert.deepEqual([state, reason?.code], ['closed', 'user_not_found']);
  });

  test('a socket whose token the server rejects twice ends with the error of the token', async () => {
    const { url, sign } = await scene();
    let calls = 0;
    const token = () => {
      calls += 1;
      return signClientToken({ ...sign, secret: 'another', userID: 'ada', groupID: 'g' });
    };
    const client = closed(new RollcallClient({ url, token }));
    await assert.rejects(client.presence.watch().next(), { code: 'invalid_project_token' });
    assert.equal(calls, 2);
    assert.equal(client.status.get().state, 'closed');
  });

  test('a socket continues its watches and announcements after a restart of the server', async () => {
    await withDataDir(async (dataDir) => {
      let port = 0;
      let ada: RollcallClient | undefined;
      let states: ConnectionStatus[] = [];
      let watch: ReturnType<RollcallClient['presence']['watch']> | undefined;
      for (const round of [1, 2]) {
        await withServer({ dataDir, settings: { port } }, async (running) => {
          port = Number(new URL(running.url).port);
          const rollcall = closed(new Rollcall({ url: running.url, token: running.projectToken }));
          if (round === 1) {
            await rollcall.batch({
              users: [{ id: 'ada' }],
              groups: [{ id: 'g', name: 'G', members: ['ada'] }],
            });
            const sign = { projectID: running.projectId, secret: running.projectSecret };
            const token = () => signClientToken({ ...sign, userID: 'ada', groupID: 'g' });
            ada = closed(new RollcallClient({ url: running.url, token }));
            states = statesOf(ada);
            watch = ada.presence.watch();
            await watch.next();
            ada.presence.announce({ location: { page: 'a' } });
          }
          await until(
            'ada is present',
            async () => (await rollcall.presence.list({ groupID: 'g' }).toArray()).length === 1,
          );
        });
      }
      assert.deepEqual(
        states
          .map(({ state }) => state)
          .filter((state, index, all) => state !== all[index - 1])
          .slice(0, 4),
        ['connecting', 'open', 'reconnecting', 'open'],
      );
      await ada?.close();
    });
  });

  test('a socket is replaced by HTTP where the browser throws instead of opening one', async (context) => {
    const { client } = await scene();
    const { WebSocket } = globalThis;
    context.after(() => {
      globalThis.WebSocket = WebSocket;
    });
    // Firefox does, where the Content-Security-Policy of the page names no socket.
    globalThis.WebSocket = class {
      constructor() {
        throw new DOMException('The operation is insecure.', 'SecurityError');
      }
    } as unknown as typeof WebSocket;
    const ada = client('ada');
    const states = statesOf(ada);
    const first = ada.presence.watch().next();
    await until('it is open, or tries again', () => states.length > 1);
    assert.deepEqual(ada.status.get(), { state: 'open', reason: null });
    assert.equal((await first).value?.type, 'snapshot');
  });

  test('a socket is replaced by HTTP where a proxy lets no socket through', async () => {
    const { token, rollcall } = await scene();
    const target = new URL(server.running.url);
    const proxy = createServer((incoming, outgoing) => {
      const { method, url, headers } = incoming;
      if (headers.upgrade !== undefined) return outgoing.writeHead(426).end();
      const { hostname, port } = target;
      const forwarded = request({ hostname, port, method, path: url, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      forwarded.on('error', () => outgoing.destroy());
      outgoing.on('close', () => forwarded.destroy());
      return incoming.pipe(forwarded);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const ada = new RollcallClient({ url, token: () => token('ada') });
      const watch = ada.presence.watch();
      assert.equal((await watch.next()).value?.type, 'snapshot');
      ada.presence.announce({ location: { page: 'a' } });
      assert.equal((await watch.next()).value?.type, 'arrived');
      assert.equal(ada.status.get().state, 'open');
      await ada.close();
      assert.deepEqual(await rollcall.presence.list({ groupID: 'g' }).toArray(), []);
    } finally {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });

  test('a watch ignores frames, fields and events of a later server, and goes on after a close code that it does not know', async () => {
    const script: SocketScript = ({ op, ref, send, ws }, index) => {
      send({ event: 'later', data: null });
      send({ ref: ref + 1_000, ok: true });
      if (op !== 'watch') return true;
      send({ ref, ok: true, later: {} });
      send({ watch: ref, event: 'later', id: 'e-0', data: null });
      send({ watch: ref, event: 'snapshot', id: 'e-1', data: { users: [], later: index } });
      if (index === 0) ws.close(4999, 'a later reason');
      return false;
    };
    await withScriptedSocket(script, async ({ client, opened }) => {
      const watch = client.presence.watch();
      for (const later of [0, 1]) {
        const { value } = await watch.next();
        assert.deepEqual(value, { type: 'snapshot', users: [], later });
      }
      assert.equal(opened(), 2);
      assert.equal(client.status.get().state, 'open');
    });
  });
});
