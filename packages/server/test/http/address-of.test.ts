import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { addressOf } from '../../src/http/connections/address-of.ts';

/** A request without `Host`, on a connection that is open. */
async function withRequest(use: (request: IncomingMessage, port: number) => void): Promise<void> {
  const server = createServer({ requireHostHeader: false });
  const requested = once(server.listen(0, '127.0.0.1'), 'request');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  client.on('error', () => {}).write('GET / HTTP/1.1\r\n\r\n');
  const [request] = (await requested) as [IncomingMessage];
  try {
    use(request, port);
  } finally {
    client.destroy();
    server.close();
  }
}

test('without a Host header the address of the server is that of the connection', () =>
  withRequest((request, port) => assert.equal(addressOf(request), `http://127.0.0.1:${port}`)));

test('a connection that has closed before its request is answered has an address of the server, and no error', () =>
  withRequest((request) => {
    request.socket.destroy();
    assert.equal(addressOf(request), 'http://localhost:0');
  }));
