/** The least of an HTTP server that makes a call for each request: no tokens, routes or checks. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Reads the body of each request, makes the call, and answers with the message. Prints `{"port": …}` when it listens. */
export function serveBare(
  message: string,
  call: (request: IncomingMessage, body: string) => Promise<unknown>,
): void {
  const answer = JSON.stringify({ success: true, message });
  const head = {
    'x-request-id': 'bare',
    'content-type': 'application/json; charset=utf-8',
    'content-length': answer.length,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      await call(request, Buffer.concat(chunks).toString());
      response.writeHead(200, head).end(answer);
    });
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
  });
  process.on('SIGTERM', () => process.exit(0));
}
