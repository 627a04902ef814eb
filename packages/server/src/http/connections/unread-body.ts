import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasDeclaredBody } from '../bodies/receive-body.ts';
import { closeLingering, LINGER_MS } from './lingering-close.ts';

/** A body up to this size is received to its end, so that the connection can be used again, in bytes. */
const SHORT_BODY_BYTES = 64 * 1_024;

/**
 * Bounds how long a connection stays open when its request is answered before the body has arrived. Call it before the head
 * is sent: the answer closes the connection, unless the body is short. A short one has LINGER_MS to arrive once the answer is
 * sent, which waits for the answers to requests before it.
 */
export function boundUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete !== false || !hasDeclaredBody(request.headers)) return;
  // Chunked bodies have no length that could be known to be short.
  if (!(Number(request.headers['content-length']) <= SHORT_BODY_BYTES)) {
    response.shouldKeepAlive = false;
    return;
  }
  response.once('finish', () => {
    if (request.complete) return;
    const limit = setTimeout(closeLingering, LINGER_MS, request.socket).unref();
    request.once('close', () => clearTimeout(limit));
  });
}
