import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { answerRaw, errorBody, JSON_TYPE } from './answer.ts';
import { newRequestId, requestId } from './plugins/request-context.ts';

const STATUSES: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

/** Answers what Node could not read as HTTP: there is no request to hang an answer on, only the socket. */
export function answerClientError({ code }: NodeJS.ErrnoException, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUSES[code ?? ''] ?? 400;
  const reason = STATUS_CODES[status];
  const body = errorBody('invalid_request', `the request cannot be read: ${reason}`);
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${newRequestId()}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Answers an `Expect` header other than `100-continue`, which Node hands over before any route sees it. */
export function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const body = errorBody('invalid_request', 'Expect: only 100-continue is understood');
  answerRaw(response, 417, requestId(request), body);
}
