import { pipeline, Readable } from 'node:stream';
import type { Logger } from 'pino';
import type { Exchange } from './exchange.ts';

/** The body of an answer that is written piece by piece: the next one is read when the socket has taken the one before. */
export interface Pieces {
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Releases what the store retains for the pieces. Called once the answer has ended, also where no piece was read. */
  readonly release: () => unknown;
}

/** The client has the current state: 304, without a body. */
export const NOT_MODIFIED = Symbol('304');
/** The handler has taken the response over and answers on its own. */
export const TAKEN_OVER = Symbol('taken over');

/** The result of a handler: a body, whole or in pieces, or one of the symbols. */
export type Reply = string | Uint8Array | Pieces | typeof NOT_MODIFIED | typeof TAKEN_OVER;

/**
 * Writes the pieces as the body. Calls `disconnected` where the client disconnects before the end. A failure on the way is
 * logged and breaks the connection, because the status has been sent.
 */
export function writePieces(
  exchange: Exchange,
  { pieces, release }: Pieces,
  log: Logger,
  disconnected: () => void,
): void {
  pipeline(Readable.from(asLine(pieces), { highWaterMark: 1 }), exchange.response, (err) => {
    release();
    if (err?.code === 'ERR_STREAM_PREMATURE_CLOSE') disconnected();
    else if (err)
      log.error(
        { err, ...exchange.logged },
        'an answer broke off after its status was sent; its connection is closed, the client can repeat it',
      );
  });
}

/** The same line feed that ends an answer which is sent whole. */
async function* asLine(pieces: Pieces['pieces']): Pieces['pieces'] {
  yield* pieces;
  yield '\n';
}
