import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';

/**
 * A body in pieces: the next one is asked for when the socket has taken the last one. A failure on the way breaks the
 * connection, which is the only way left to tell, and is logged. `pieces` ends when the reader has all of it or is
 * gone, and at once for a HEAD, which reads nothing.
 */
export function bodyStream(pieces: AsyncGenerator<string>, request: FastifyRequest, log: Logger): Readable {
  if (request.method === 'HEAD') {
    void pieces.return(undefined);
    return Readable.from([]);
  }
  const stream = Readable.from(pieces, { highWaterMark: 1 });
  stream.once('error', (err) => log.error({ err, reqId: request.id }, 'an answer broke off'));
  return stream;
}
