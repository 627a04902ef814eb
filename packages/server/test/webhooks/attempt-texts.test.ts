import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer, type LookupFunction } from 'node:net';
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

test('an attempt that no address of the host accepts has one error, of the first address', async () => {
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const lookup: LookupFunction = (_name, _options, callback) => callback(null, addresses);
  const [error] = await once(
    request({ host: 'receiver.test', port: 1, lookup, agent: false }).end(),
    'error',
  );
  assert.ok(error instanceof AggregateError);
  assert.equal(errorText(error), 'the receiver refused the connection');
});

test('an attempt with another failure of the network has its code, or its message, as its error', () => {
  const unreachable = Object.assign(new Error('connect'), { code: 'EHOSTUNREACH' });
  assert.equal(errorText(unreachable), 'no answer: EHOSTUNREACH');
  assert.equal(errorText(new Error('x'.repeat(300))), `no answer: ${'x'.repeat(189)}`);
});
