import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { ServiceError } from '../../core/service-error.ts';
import { bodyMemoryFull } from './body-memory.ts';
import type { ReceivedBody } from './received-body.ts';

/**
 * Receives the whole body. Calls `done` once, with what is wrong or null. What arrives after an error is read and dropped,
 * so that the connection can be used again.
 */
export function receiveBody(
  request: IncomingMessage,
  body: ReceivedBody,
  maxBytes: number,
  done: (error: ServiceError | null) => void,
): void {
  let isDone = false;
  const end = (error: ServiceError | null) => {
    if (isDone) return;
    isDone = true;
    done(error);
  };
  request.on('data', (chunk: Uint8Array) => {
    if (isDone) return;
    if (body.length + chunk.length > maxBytes) end(tooLarge(maxBytes));
    else if (!body.add(chunk)) end(bodyMemoryFull());
  });
  request.on('end', () => end(null));
  const incomplete = () => end(invalid('the connection ended before the request body was received'));
  request.on('error', incomplete);
  // The connection ended while the token was verified: no event comes any more.
  if (request.destroyed) incomplete();
}

/** Whether bytes follow the head of the request. Some clients name a content type where none do, such as that of a form. */
export function hasDeclaredBody(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length } = headers;
  return (length !== undefined && Number(length) !== 0) || headers['transfer-encoding'] !== undefined;
}

/** As most clients write it. */
const PLAIN_TYPE = 'application/json';
const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i;
/** Any charset of a content type; its parameters may be quoted. */
const CHARSET = /;\s*charset\s*=\s*("[^"]*"|[^;\s]*)/gi;
const UTF8 = /^"?utf-?8"?$/i;
/** How much of a header's value a message repeats. */
const SHOWN_MAX_LENGTH = 40;

/** The error of a body that its head shows: only `application/json` in UTF-8 is a body. */
export function bodyHeadError(headers: IncomingHttpHeaders, maxBytes: number): ServiceError | null {
  const { 'content-type': type = '' } = headers;
  if (type !== PLAIN_TYPE && !JSON_TYPE.test(type))
    return invalid('the request body must be JSON: send Content-Type: application/json');
  if (Number(headers['content-length']) > maxBytes) return tooLarge(maxBytes);
  const { 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' } = headers;
  if (encoding.toLowerCase() !== 'identity') return encoded(encoding, 'send it uncompressed');
  if (transfer.toLowerCase() !== 'chunked') return encoded(transfer, 'the only transfer coding is chunked');
  if (type === PLAIN_TYPE) return null;
  for (const [, charset = ''] of type.matchAll(CHARSET))
    if (!UTF8.test(charset)) return encoded(charset, 'send it in UTF-8');
  return null;
}

const invalid = (message: string, status = 400) => new ServiceError('invalid_request', message, { status });
const tooLarge = (maxBytes: number) =>
  invalid(`the request body is larger than the ${maxBytes} bytes that this endpoint takes`, 413);
const encoded = (encoding: string, advice: string) =>
  invalid(`the request body is sent as ${encoding.slice(0, SHOWN_MAX_LENGTH)}: ${advice}`);
