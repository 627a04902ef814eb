import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../core/service-error.ts';

/** Where a body is that was collected before the application had its request. */
const HANDED = Symbol('body');

/** Hands a request's whole body to the application, which is about to get the request. */
export function handBody(request: IncomingMessage, bytes: Uint8Array): void {
  Object.assign(request, { [HANDED]: bytes });
}

type Done = (error: Error | null, bytes?: Uint8Array) => void;

/**
 * Bodies are handed on as bytes, and only `application/json` (with any parameters) is a body. A DELETE has none: some
 * clients send its content type without one.
 */
export function addBodies(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', readBody);
}

/**
 * Collects a body no larger than its route takes. Fastify's own collecting copies what Node has copied already: 1.5 µs of
 * the 14 that a small write took in a server that did nothing else.
 */
function readBody({ headers, routeOptions }: FastifyRequest, payload: IncomingMessage, done: Done): void {
  const { bodyLimit } = routeOptions;
  const { 'content-encoding': encoding = 'identity', 'content-length': announced } = headers;
  if (Number(announced) > bodyLimit) {
    done(tooLarge());
    return;
  }
  const { [HANDED]: handed } = payload as { [HANDED]?: Uint8Array };
  if (handed !== undefined) {
    done(null, handed);
    return;
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isEnded = false;
  const end = (error: Error | null, bytes?: Uint8Array) => {
    if (isEnded) return;
    isEnded = true;
    done(error, bytes);
  };
  payload.on('data', (chunk: Uint8Array) => {
    length += chunk.length;
    if (length > bodyLimit) end(tooLarge());
    else chunks.push(chunk);
  });
  payload.on('end', () => {
    if (encoding !== 'identity') end(encoded(encoding));
    else end(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length));
  });
  payload.on('error', () => end(cutShort()));
}

const refusal = (message: string, status = 400) => new ServiceError('invalid_request', message, { status });
const tooLarge = () => refusal('the request body is larger than this server takes', 413);
const cutShort = () => refusal('the request body ended before it was whole');
const encoded = (encoding: string) =>
  refusal(`the request body is sent as ${encoding}: send it uncompressed`);
