/** A bare `node:http` server that answers the bytes it is given, with the headers a Rollcall answer has: the yardstick. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = process.argv[2] as string;
const length = String(Buffer.byteLength(body));

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('x-request-id', 'bare-1');
  response.setHeader('content-length', length);
  response.end(body);
});
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })),
);
