/** A receiver of webhooks in this process, and changes that are delivered to it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { groupId } from './dataset.ts';
import { send } from './http.ts';
import type { Child } from './processes.ts';

const CHANGES = 3_000;
/** Changes that are written at once. */
const WRITERS = 16;

/**
 * Writes {@link CHANGES} names and waits until the webhook has all of them. `around` gets the number of changes and what makes
 * them, and returns what measures it.
 */
export async function deliveries<Result>(
  server: Child,
  token: string,
  around: (count: number, deliver: () => Promise<void>) => () => Promise<Result>,
): Promise<Result> {
  let received = 0;
  let wanted = 1;
  let resolve = () => {};
  const receiver = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on('end', () => {
      received += (JSON.parse(text) as { changes: unknown[] }).changes.length;
      response.writeHead(204).end();
      if (received >= wanted) resolve();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const write = (count: number) => async () => {
    const { promise, resolve: done } = Promise.withResolvers<void>();
    wanted = received + count;
    resolve = done;
    let next = 0;
    const writer = async () => {
      for (let index = next++; index < count; index = next++)
        await send(server, token, 'PUT', `/v1/groups/${groupId(index % 1_000)}`, {
          name: `N ${index} ${wanted}`,
        });
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
    await promise;
  };
  await send(server, token, 'PUT', '/v1/webhooks/costs', {
    url: `http://127.0.0.1:${port}/`,
    types: ['group.updated'],
  });
  await write(100)();
  const result = await around(CHANGES, write(CHANGES))();
  await send(server, token, 'DELETE', '/v1/webhooks/costs');
  receiver.close();
  receiver.closeAllConnections();
  return result;
}
