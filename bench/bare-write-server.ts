/**
 * The least that a durable write over HTTP and PostgreSQL can be: a `node:http` server that reads the body, makes the call of a bare
 * client and answers, without tokens, routes or checks. Takes a {@link BareTarget} as JSON; prints `{"port": …}` when it listens.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BareTarget, bareCall } from './bare-calls.ts';

const ANSWER = JSON.stringify({ success: true, message: 'updated what was to be updated' });
const HEAD = {
  'x-request-id': 'bare',
  'content-type': 'application/json; charset=utf-8',
  'content-length': ANSWER.length,
};

const call = await bareCall(JSON.parse(process.argv[2] as string) as BareTarget);
let step = 0;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', async () => {
    JSON.parse(Buffer.concat(chunks).toString());
    step += 1;
    await call(step);
    response.writeHead(200, HEAD).end(ANSWER);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.on('SIGTERM', () => process.exit(0));
