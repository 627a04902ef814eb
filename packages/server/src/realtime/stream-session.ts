import type { ServiceError } from '../core/service-error.ts';
import type { Batch, Channel } from './channel.ts';
import { errorText } from './event-text.ts';
import type { HeldTexts } from './held-texts.ts';
import type { Text } from './pieces.ts';
import type { Opening } from './snapshot-text.ts';
import { StallWatch } from './stall-watch.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamSink } from './stream-sink.ts';

/** Who keeps account of a stream. */
export interface SessionOwner {
  /** What the streams of this process are in the middle of. */
  readonly held: HeldTexts;
  /** The stream has ended, for whatever reason. Called once. */
  ended(session: StreamSession): void;
  /** The stream ends because of a defect of ours. Called before {@link ended}. */
  failed(session: StreamSession, defect: unknown): void;
}

/** Before every offset: of somebody who was given a snapshot. */
const EXACT = -1;

/** How long the last words of a stream may take to be taken, in milliseconds. */
const LAST_WORDS_MAX_MS = 5_000;

/**
 * One reader of a channel: what it is given first, then what it missed meanwhile, then whatever the others are told.
 * It has no queue: while the network does not take what was written, nothing more is, and when it has, the reader is told
 * what it missed, merged; if that is not kept any more, the stream is cut off. What throws in here ends this stream, and
 * nobody else's.
 */
export class StreamSession {
  readonly asked: StreamRequest;
  readonly #owner: SessionOwner;
  #channel: Channel | null = null;
  #sink: StreamSink | null = null;
  /** What it is in the middle of. */
  #text: Text | null = null;
  #nextPiece = 0;
  /** The reader knows all up to this offset. */
  #offset = 0;
  /** Up to this offset it may know some of what comes later, so it is told everything one by one. */
  #exactFrom = EXACT;
  /** The network takes a piece, and tells when it has. */
  #isWaiting = false;
  /** The network did not take what it was given: it is told merged what it missed. */
  #isSlow = false;
  readonly #stall = new StallWatch();
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

  /** Is to be given a snapshot with the next {@link pump}. Who is in the middle of something cannot: it comes back. */
  reopen(opening: Opening): void {
    const isMidway = this.#text !== null && this.#nextPiece > 0 && this.#nextPiece < this.#text.pieceCount;
    if (isMidway || this.#channel === null) this.cut();
    else this.#open(this.#channel, opening, EXACT);
  }

  take(batch: Batch): void {
    this.#safely(() => this.#take(batch));
  }

  /** Goes on where the network stopped taking. */
  pump(): void {
    this.#safely(() => this.#pump());
  }

  /** Tells that the server is there, and cuts off a reader who has taken nothing for a while. */
  beat(bytes: Buffer): void {
    this.#safely(() => this.#beat(bytes));
  }

  /** Ends the stream, telling why; a reader who lags is told when it comes back. */
  end(error: ServiceError): void {
    if (this.#ending !== null) return;
    this.#ending = error;
    const sink = this.#sink;
    if (sink !== null) this.#safely(() => this.#sayLast(sink, error));
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
    return this.#text !== null;
  }

  #safely(work: () => void): void {
    try {
      work();
    } catch (defect) {
      this.#owner.failed(this, defect);
      this.cut();
    }
  }

  #sayLast(sink: StreamSink, error: ServiceError): void {
    if (this.#isBehind || sink.writableLength > 0) {
      sink.destroy();
    } else {
      sink.write(errorText(error));
      sink.setTimeout(LAST_WORDS_MAX_MS, () => sink.destroy());
      sink.destroySoon();
    }
  }

  #take(batch: Batch): void {
    const offset = this.#offset;
    if (offset >= batch.to) return;
    const isLevel = offset >= batch.from && offset < batch.first && offset >= this.#exactFrom;
    const sink = this.#sink;
    const isBlocked = sink === null || sink.writableLength > 0;
    if (isLevel && !isBlocked && !this.#isBehind) {
      this.#offset = batch.to;
      this.#give(sink, batch.text);
    } else {
      this.#isSlow ||= isBlocked;
      this.#lag();
    }
  }

  /** Whoever has lagged so far behind that it could not catch up any more comes back instead. */
  #lag(): void {
    this.#channel?.lagging.add(this);
    if (this.#channel?.keeps(this.#offset) === false) this.cut();
    else this.#pump();
  }

  #beat(bytes: Buffer): void {
    this.#pump();
    const sink = this.#sink;
    if (sink === null) return;
    if (this.#stall.isStalled(sink)) this.cut();
    else if (this.#channel?.lagging.has(this) === false && sink.writableLength === 0) sink.write(bytes);
  }

  #pump(): void {
    const sink = this.#sink;
    const channel = this.#channel;
    if (sink === null || channel === null || this.#isWaiting) return;
    this.#writePieces(sink);
    if (!this.#isBehind && sink.writableLength === 0 && channel.isOpen) this.#catchUp(sink, channel);
  }

  /** Writes what fits the network, and lags while there is more. */
  #give(sink: StreamSink, text: Text): void {
    if (text.pieceCount === 1) {
      sink.write(text.piece(0));
    } else {
      this.#begin(text);
      this.#writePieces(sink);
      if (this.#isBehind) this.#channel?.lagging.add(this);
    }
  }

  #writePieces(sink: StreamSink): void {
    const text = this.#text;
    const onTaken = () => this.#taken(sink);
    while (text !== null && this.#nextPiece < text.pieceCount && !this.#isWaiting) {
      const piece = text.piece(this.#nextPiece);
      this.#nextPiece += 1;
      sink.write(piece, onTaken);
      this.#isWaiting = sink.writableLength > 0;
    }
    if (this.#isWaiting) this.#hold();
    else this.#begin(null);
  }

  #taken(sink: StreamSink): void {
    // A piece that was taken at once is told of later, when another one may wait.
    if (!this.#isWaiting || sink.writableLength > 0) return;
    this.#isWaiting = false;
    this.pump();
  }

  #open(channel: Channel, { text, offset }: Opening, exactFrom: number): void {
    this.#offset = offset;
    this.#exactFrom = exactFrom;
    channel.lagging.add(this);
    this.#begin(text);
    this.#hold();
  }

  #catchUp(sink: StreamSink, channel: Channel): void {
    const missed = channel.missed(this.#offset, this.#isSlow && this.#offset >= this.#exactFrom);
    if (missed === null) {
      this.cut();
      return;
    }
    this.#offset = Math.max(this.#offset, channel.toldTo);
    this.#isSlow = false;
    channel.lagging.delete(this);
    if (missed.length > 0) this.#give(sink, missed);
  }

  /** It is to be given this, or has what it was given. */
  #begin(text: Text | null): void {
    if (this.#text !== null) this.#owner.held.release(this.#text, this);
    this.#text = text;
    this.#nextPiece = 0;
  }

  /** What it is in the middle of counts until it has it, but for one piece, which whoever waits has anyway. */
  #hold(): void {
    if (this.#text !== null && this.#text.pieceCount > 1) this.#owner.held.hold(this.#text, this);
  }

  #leave(): void {
    this.#channel?.readers.delete(this);
    this.#channel?.lagging.delete(this);
    this.#channel = null;
    this.#begin(null);
    this.#owner.ended(this);
  }
}
