import type { ServiceError } from '../../core/service-error.ts';
import type { Rest, StreamSink } from '../../realtime/sessions/stream-sink.ts';
import type { Pieces, Text } from '../../realtime/text/pieces.ts';
import type { FrameWriter } from './frame-writer.ts';

/** The socket of a watch. */
export interface WatchOwner {
  readonly writer: FrameWriter;
  /** The Authorization header that a request with the socket's token has. The token can be renewed. */
  readonly credentials: string | undefined;
  /** Verifies the token as that of an HTTP request, without the cache. @throws ServiceError (a rejection) */
  checkCredentials(): unknown;
  /** The watch of this number has ended, and its last message is being written. */
  watchEnded(watch: number, error: ServiceError): void;
  /** Ends the connection at once. */
  cutOff(): void;
}

/** Writes the events of a watch as messages of its socket, which other watches share. */
export class WatchSink implements StreamSink {
  readonly takesSnapshots = true;
  readonly #watch: number;
  readonly #owner: WatchOwner;

  constructor(watch: number, owner: WatchOwner) {
    this.#watch = watch;
    this.#owner = owner;
  }

  get writableLength(): number {
    return this.#owner.writer.lengthFor(this);
  }

  get bytesWritten(): number {
    return this.#owner.writer.bytesWritten;
  }

  pieces(text: Text): Pieces {
    return text.frames(`${this.#watch}`);
  }

  write(frames: Buffer, onTaken?: () => void, hasMore = false): void {
    this.#owner.writer.write(this, frames, hasMore, onTaken);
  }

  /** A message that has begun is written to its end: the socket goes on. */
  finish({ pieces, next }: Rest): void {
    const hasMore = next + 1 < pieces.count;
    const onTaken = hasMore ? () => this.finish({ pieces, next: next + 1 }) : undefined;
    this.#owner.writer.write(this, pieces.piece(next), hasMore, onTaken);
  }

  end(error: ServiceError, rest: Rest | null): void {
    if (rest !== null) this.finish(rest);
    this.#owner.watchEnded(this.#watch, error);
  }

  /** The sockets are closed by themselves. */
  stop(): void {}

  destroy(): void {
    this.#owner.cutOff();
  }
}
