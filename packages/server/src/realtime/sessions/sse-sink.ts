import type { ServiceError } from '../../core/service-error.ts';
import { errorText } from '../../wire/event-text.ts';
import type { Pieces, Text } from '../text/pieces.ts';
import type { Rest, StreamSink } from './stream-sink.ts';

/** How long the network may take for the last event of a stream, in milliseconds. */
const LAST_EVENT_MAX_MS = 5_000;

/** What a caller is sent of an error. */
type SentError = Pick<ServiceError, 'code' | 'message'>;

/** The methods of a socket that a sink calls. */
export interface ByteSink {
  /** Bytes that were written and not yet taken by the network. Those of one write count until the last one is taken. */
  readonly writableLength: number;
  /** All bytes that were ever written. */
  readonly bytesWritten: number;
  /** `onTaken` is called, never synchronously, when the network has taken the bytes or the sink has ended. */
  write(bytes: Buffer | string, onTaken?: () => void): unknown;
  setTimeout(timeoutMs: number, listener: () => void): unknown;
  /** Ends when what was written has been taken. */
  destroySoon(): void;
  /** Ends at once. */
  destroy(): void;
}

/** The connection of one stream of server-sent events. */
export class SseSink implements StreamSink {
  readonly takesSnapshots = false;
  readonly #bytes: ByteSink;
  readonly #present: (error: ServiceError) => SentError;

  /** `present` is what the last event has of the error that ends the stream. */
  constructor(bytes: ByteSink, present: (error: ServiceError) => SentError = (error) => error) {
    this.#bytes = bytes;
    this.#present = present;
  }

  get writableLength(): number {
    return this.#bytes.writableLength;
  }

  get bytesWritten(): number {
    return this.#bytes.bytesWritten;
  }

  pieces(text: Text): Pieces {
    return text.sse;
  }

  write(bytes: Buffer, onTaken?: () => void): void {
    this.#bytes.write(bytes, onTaken);
  }

  /** A stream of its own ends with its connection. */
  finish(): void {
    this.destroy();
  }

  /** A reader who lags gets the error when it reconnects. */
  end(error: ServiceError, rest: Rest | null): void {
    const sink = this.#bytes;
    if (rest !== null || sink.writableLength > 0) {
      sink.destroy();
      return;
    }
    sink.write(errorText(this.#present(error)));
    sink.setTimeout(LAST_EVENT_MAX_MS, () => sink.destroy());
    sink.destroySoon();
  }

  stop(): void {
    if (this.#bytes.writableLength === 0) this.#bytes.destroySoon();
    else this.#bytes.destroy();
  }

  destroy(): void {
    this.#bytes.destroy();
  }
}
