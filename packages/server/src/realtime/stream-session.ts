import type { ServiceError } from '../core/service-error.ts';
import type { Batch, Channel } from './channel.ts';
import { errorText } from './event-text.ts';
import type { Opening } from './snapshot-text.ts';
import type { StreamRequest } from './stream-request.ts';

/** Where a stream's bytes go: of a socket, what is needed here. */
export interface StreamSink {
  /** Bytes that were written and that the network has not taken yet. */
  readonly writableLength: number;
  /** False when so much is waiting that the `drain` event will tell when it is gone. */
  write(bytes: Buffer | string): boolean;
  once(event: 'drain', listener: () => void): unknown;
  setTimeout(timeoutMs: number, listener: () => void): unknown;
  /** Ends when what was written has been taken. */
  destroySoon(): void;
  /** Ends at once. */
  destroy(): void;
}

/** Who keeps account of a stream. */
export interface SessionOwner {
  /** The stream has ended, for whatever reason. Called once. */
  ended(session: StreamSession): void;
}

/** Before every offset: of somebody who was given a snapshot. */
const EXACT = -1;

/** How long the last words of a stream may take to be taken, in milliseconds. */
const LAST_WORDS_MAX_MS = 5_000;

/**
 * One reader of a channel: what it is given first, then what it missed meanwhile, then whatever the others are told.
 * It holds no bytes of its own: while the network does not take what was written, nothing more is, and when it has,
 * the reader is told what it missed, merged; if that is not kept any more, the stream is cut off.
 */
export class StreamSession {
  readonly asked: StreamRequest;
  readonly #owner: SessionOwner;
  #channel: Channel | null = null;
  #sink: StreamSink | null = null;
  #pieces: readonly Buffer[] = [];
  #nextPiece = 0;
  /** The reader knows all up to this offset. */
  #offset = 0;
  /** Up to this offset it may know some of what comes later, so it is told everything one by one. */
  #exactFrom = EXACT;
  #isDraining = false;
  /** The network did not take what it was given: it is told merged what it missed. */
  #isSlow = false;
  /** How much the network had to take at the last heartbeat. */
  #stuckAt = 0;
  #ending: ServiceError | 'closed' | null = null;

  constructor(asked: StreamRequest, owner: SessionOwner) {
    this.asked = asked;
    this.#owner = owner;
  }

  /** Why the stream ended, or null. */
  get ending(): ServiceError | 'closed' | null {
    return this.#ending;
  }

  get channel(): Channel | null {
    return this.#channel;
  }

  /** It came back from somewhere else, and may not know what its channel knew when it joined. */
  get isResumed(): boolean {
    return this.#exactFrom !== EXACT;
  }

  /** Joins the readers of a channel; told nothing before {@link start}. */
  join(channel: Channel, opening: Opening, exactFrom = EXACT): void {
    this.#channel = channel;
    channel.readers.add(this);
    this.#open(channel, opening, exactFrom);
  }

  start(sink: StreamSink): void {
    this.#sink = sink;
    if (this.#ending === null) this.pump();
    else sink.destroy();
  }

  /** The group was read anew. A reader who is in the middle of a snapshot cannot be given another one. */
  reopen(opening: Opening): void {
    const isMidway = this.#nextPiece > 0 && this.#nextPiece < this.#pieces.length;
    if (isMidway || this.#channel === null) {
      this.cut();
    } else {
      this.#open(this.#channel, opening, EXACT);
      this.pump();
    }
  }

  take(batch: Batch): void {
    const offset = this.#offset;
    if (offset >= batch.to) return;
    const isLevel = offset >= batch.from && offset < batch.first && offset >= this.#exactFrom;
    const sink = this.#sink;
    const isBlocked = sink === null || sink.writableLength > 0;
    if (isLevel && !isBlocked && !this.#isBehind) {
      sink.write(batch.bytes);
      this.#offset = batch.to;
    } else {
      this.#isSlow ||= isBlocked;
      this.#lag();
    }
  }

  /** Goes on where the network stopped taking. */
  pump(): void {
    const sink = this.#sink;
    const channel = this.#channel;
    if (sink === null || channel === null || this.#isDraining) return;
    while (this.#nextPiece < this.#pieces.length) {
      const piece = this.#pieces[this.#nextPiece] as Buffer;
      this.#nextPiece += 1;
      if (sink.write(piece)) continue;
      this.#awaitDrain(sink);
      return;
    }
    this.#pieces = [];
    this.#nextPiece = 0;
    if (sink.writableLength === 0 && channel.isOpen) this.#catchUp(sink, channel);
  }

  /** Tells that the server is there, and cuts off a reader who has taken nothing since the last time. */
  beat(bytes: Buffer): void {
    this.pump();
    const waiting = this.#sink?.writableLength ?? 0;
    if (waiting > 0 && waiting === this.#stuckAt) this.cut();
    this.#stuckAt = waiting;
    if (this.#channel?.lagging.has(this) === false && waiting === 0) this.#sink?.write(bytes);
  }

  /** Ends the stream, telling why; a reader who lags is told when it comes back. */
  end(error: ServiceError): void {
    if (this.#ending !== null) return;
    this.#ending = error;
    const sink = this.#sink;
    if (this.#isBehind || (sink !== null && sink.writableLength > 0)) sink?.destroy();
    else if (sink !== null) {
      sink.write(errorText(error));
      sink.setTimeout(LAST_WORDS_MAX_MS, () => sink.destroy());
      sink.destroySoon();
    }
    this.#leave();
  }

  /** Ends the stream without a word; the reader comes back and goes on where it was. */
  cut(): void {
    this.#sink?.destroy();
    this.close();
  }

  /** The server stops: what the network has not taken by now is not waited for. */
  stop(): void {
    if (this.#sink?.writableLength === 0) this.#sink.destroySoon();
    else this.#sink?.destroy();
    this.close();
  }

  /** The reader is gone. Idempotent. */
  close(): void {
    if (this.#ending !== null) return;
    this.#ending = 'closed';
    this.#leave();
  }

  get #isBehind(): boolean {
    return this.#isDraining || this.#pieces.length > 0;
  }

  /** Whoever has lagged so far behind that it could not catch up any more comes back instead. */
  #lag(): void {
    this.#channel?.lagging.add(this);
    if (this.#channel?.keeps(this.#offset) === false) this.cut();
    else this.pump();
  }

  #open(channel: Channel, { pieces, offset }: Opening, exactFrom: number): void {
    this.#pieces = pieces;
    this.#nextPiece = 0;
    this.#offset = offset;
    this.#exactFrom = exactFrom;
    channel.lagging.add(this);
  }

  #catchUp(sink: StreamSink, channel: Channel): void {
    const missed = channel.missed(this.#offset, this.#isSlow && this.#offset >= this.#exactFrom);
    if (missed === null) {
      this.cut();
      return;
    }
    this.#offset = Math.max(this.#offset, channel.toldTo);
    this.#isSlow = false;
    if (missed.length > 0) sink.write(missed);
    channel.lagging.delete(this);
  }

  #awaitDrain(sink: StreamSink): void {
    this.#isDraining = true;
    sink.once('drain', () => {
      this.#isDraining = false;
      this.pump();
    });
  }

  #leave(): void {
    this.#channel?.readers.delete(this);
    this.#channel?.lagging.delete(this);
    this.#channel = null;
    this.#pieces = [];
    this.#owner.ended(this);
  }
}
