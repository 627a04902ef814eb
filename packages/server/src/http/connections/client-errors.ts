import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { http } from '../../values/node-http.ts';
import { errorBody, JSON_TYPE } from '../../wire/json-answer.ts';
import { newRequestId, requestId } from '../request-id.ts';
import { closeLingering, stopReading } from './lingering-close.ts';

const STATUSES: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

/**
 * Answers bytes that Node could not read as HTTP, or that did not arrive in time, and closes the connection. They have no
 * response object, so the answer is written to the socket. `latest` is the newest response on this connection.
 */
export function answerClientError(
  { code }: NodeJS.ErrnoException,
  socket: Socket,
  latest: ServerResponse | null,
): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
  } else if (latest !== null && isDone(latest) && !latest.shouldKeepAlive) {
    // The answer before has closed the connection, so nothing may follow it.
    closeLingering(socket);
  } else if (latest === null || isDone(latest)) {
    socket.write(clientErrorText(code, newRequestId()));
    closeLingering(socket);
  } else if (isUnanswered(latest)) {
    socket.write(clientErrorText(code, requestId(latest.req)));
    closeLingering(socket);
  } else {
    // Written now, the error would become a part of an earlier answer. That one ends first, within the linger time.
    latest.shouldKeepAlive = false;
    latest.once('finish', () => closeLingering(socket));
    stopReading(socket);
  }
}

const isDone = (response: ServerResponse) =>
  response.writableFinished || (response.writableEnded && response.socket !== null);

/**
 * The error belongs to this response's request, and no byte of the response is sent. A pipelined response that waits for an
 * earlier one has no socket yet.
 */
const isUnanswered = (response: ServerResponse) =>
  response.socket !== null && !response.headersSent && !response.req.complete;

function clientErrorText(code: string | undefined, id: string): string {
  const status = STATUSES[code ?? ''] ?? 400;
  const reason = http.STATUS_CODES[status];
  const message = `the request cannot be read: ${reason}`;
  const body = `${errorBody({ code: 'invalid_request', message })}\n`;
  return (
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${JSON_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
    `x-request-id: ${id}\r\nConnection: close\r\n\r\n${body}`
  );
}
