/** What the hooks of a client share. */
import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { test } from 'node:test';
import { withScriptedSocket } from '../../client/test/support/scripted-socket.ts';
import { written } from '../../client/test/support/scripted-streams.ts';
import { until } from '../../server/test/support/waiting.ts';
import { storeOf } from '../src/client-stores.ts';

test('threads that are missing are read once over HTTP, as long as the connection is not lost', async () => {
  const missing = JSON.stringify({ error: 'thread_not_found', message: 'it does not exist' });
  let readings = 0;
  const onRequest: RequestListener = ({ url = '' }, response) => {
    if (url.includes('/threads/')) {
      readings += 1;
      response.writeHead(404, { 'content-type': 'application/json' }).end(missing);
    } else if (url.includes('/presence')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(written('e-0', 'snapshot', { users: [] }));
    } else response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  await withScriptedSocket(
    () => true,
    async ({ client }) => {
      await client.presence.watch().next();
      const stores = ['a', 'b'].map((id) =>
        storeOf<string>(client, id, 'loading', async (set, signal) => {
          try {
            for await (const _ of client.threads.messages(id).watch({ signal }));
          } catch (error) {
            set(() => (error as { code: string }).code);
          }
          return undefined;
        }),
      );
      for (const store of stores) store.subscribe(() => {});
      await until('both are missing', () => stores.every((store) => store.get() === 'thread_not_found'));
      // A request that followed the error would be answered before all of these.
      for (let request = 0; request < 20; request += 1) await client.viewer();
      assert.equal(readings, stores.length);
    },
    { onRequest, socket: false },
  );
});
