import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { errorText } from '../../src/webhooks/attempt-texts.ts';

test('an attempt whose answer is not HTTP has an error that states it', async () => {
  const receiver = createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const [error] = await once(request({ host: '127.0.0.1', port, agent: false }).end(), 'error');
  receiver.close();
  assert.equal(errorText(error), 'the answer is not HTTP: HPE_INVALID_CONSTANT');
});
