import type { ServiceError } from '../../core/service-error.ts';
import type { Pieces, Text } from '../text/pieces.ts';

/**
 * Where the events of one stream go. A connection has one such stream (server-sent events), or several (a socket): then one
 * that is in the middle of a text blocks the others.
 */
export interface StreamSink {
  /**
   * Bytes that were written and not yet taken by the network, of all streams of the connection; more than 0 also while
   * another stream of the connection is in the middle of a text.
   */
  readonly writableLength: number;
  /** All bytes that were ever written to the connection. */
  readonly bytesWritten: number;
  /** A reader who missed too much gets a snapshot in place. Without, the reader is cut off, reconnects and resumes. */
  readonly takesSnapshots: boolean;
  /** The text as this transport writes it. */
  pieces(text: Text): Pieces;
  /**
   * `onTaken` is called, never synchronously, when the network has taken the bytes or the sink has ended. With `hasMore` the
   * bytes are continued by the next write.
   */
  write(bytes: Buffer, onTaken?: () => void, hasMore?: boolean): void;
  /** The reader wants no more events. Called where it is in the middle of a text, `rest` of which it has not got. */
  finish(rest: Rest): void;
  /** The last event: why the stream ends. `rest` is what the reader has not got of the text that it is in the middle of. */
  end(error: ServiceError, rest: Rest | null): void;
  /** The server stops: bytes that the network has not taken are not waited for. */
  stop(): void;
  /** Ends the connection at once. */
  destroy(): void;
}

/** Pieces from `next` on. */
export interface Rest {
  readonly pieces: Pieces;
  readonly next: number;
}
