/**
 * A bare `node:http` server, the yardstick: it answers every request at once with as many bytes as its argument says,
 * and with the headers that an answer of Rollcall has.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = 'x'.repeat(Number(process.argv[2]));
const length = String(body.length);

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('x-request-id', 'bare-1');
  response.setHeader('content-length', length);
  response.end(body);
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })),
);
