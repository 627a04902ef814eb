import type { ServiceError } from '../../core/service-error.ts';
import type { Channel } from '../channels/channel.ts';
import type { Batch, ChannelReader, Opening } from '../channels/channel-reader.ts';
import type { Pieces, Text } from '../text/pieces.ts';
import type { Beginnings } from './beginnings.ts';
import { Session } from './session.ts';
import type { StreamRequest } from './stream-request.ts';
import type { Rest, StreamSink } from './stream-sink.ts';
import type { UnsentTexts } from './unsent-texts.ts';

export interface SessionOwner {
  /** The texts that the streams of this process are in the middle of. */
  readonly unsent: UnsentTexts;
  /** The streams of this process that begin. */
  readonly beginnings: Beginnings;
  /** The stream has ended, for whatever reason. Called once. */
  ended(session: StreamSession): void;
  /** The reader begins, and its first text was given up: it is to get a snapshot. */
  begunWithout(session: StreamSession): void;
  /** The stream ends because of a defect in this program. */
  failed(session: StreamSession, defect: unknown): void;
}

/** The `knownTo` of a reader who begins with a snapshot. */
const NOTHING = -1;

/**
 * One reader of a channel: its first text, then what it missed meanwhile, then the batches of the channel. It has no queue:
 * while the network does not take what was written, nothing more is written. Then the reader gets what it missed, merged; if
 * that is no longer stored, the reader gets a snapshot where its sink takes one, and is cut off otherwise. An exception in here
 * ends this connection and no other.
 */
export class StreamSession extends Session<StreamRequest> implements ChannelReader {
  readonly #owner: SessionOwner;
  #hasBegun = false;
  #firstWrites = 0;
  #channel: Channel | null = null;
  /** The text that the reader is in the middle of. */
  #text: Text | null = null;
  /** Of the text, once the sink is there. */
  #pieces: Pieces | null = null;
  #nextPiece = 0;
  /** The reader has all events up to this offset. */
  #offset = 0;
  /** Up to this offset the reader may have some of the later events, so events are not merged. */
  #knownTo = NOTHING;
  /** The network has not taken the last piece, and reports when it has; or the reader has not begun. */
  #isWaiting = true;
  /** The network did not take what was written: the reader gets what it missed merged. */
  #isSlow = false;
  /** The reader is sent the next snapshot, and no event before it. */
  #isLost = false;

  constructor(request: StreamRequest, owner: SessionOwner) {
    super(request);
    this.#owner = owner;
  }

  get channel(): Channel | null {
    return this.#channel;
  }

  get isBehind(): boolean {
    return this.#channel?.lagging.has(this) !== false;
  }

  get isResumed(): boolean {
    return this.#knownTo !== NOTHING;
  }

  /** Whether the reader waits for a snapshot, and the network takes one. */
  get isReadyForSnapshot(): boolean {
    const isReady = this.#isLost && this.ending === null && this.#text === null && !this.#isWaiting;
    return isReady && this.sink?.writableLength === 0;
  }

  /** Joins the readers of a channel. Nothing is sent before {@link start}. */
  join(channel: Channel, opening: Opening, knownTo = NOTHING): void {
    this.#channel = channel;
    channel.readers.add(this);
    this.#open(channel, opening, knownTo);
  }

  reopen(opening: Opening): void {
    if (this.rest !== null || this.#channel === null) this.#lose();
    else this.#open(this.#channel, opening, NOTHING);
  }

  take(batch: Batch): void {
    this.#safely(() => this.#take(batch));
  }

  resume(): void {
    this.#safely(() => this.#pump());
  }

  protected get beginnings(): Beginnings {
    return this.#owner.beginnings;
  }

  get firstWrites(): number {
    return this.#firstWrites;
  }

  begins(): void {
    this.#hasBegun = true;
    this.#isWaiting = false;
    if (this.#isLost && this.ending === null) this.#owner.begunWithout(this);
    else this.resume();
  }

  giveUpText(): void {
    if (this.#hasBegun) this.disconnect();
    else {
      this.#begin(null);
      this.#isLost = true;
    }
  }

  override heartbeat(): void {
    this.#safely(() => {
      this.#pump();
      super.heartbeat();
    });
  }

  override end(error: ServiceError): void {
    this.#safely(() => super.end(error));
  }

  #safely(work: () => void): void {
    try {
      work();
    } catch (defect) {
      this.#owner.failed(this, defect);
      this.disconnect();
    }
  }

  /** The rest of a text that the reader has received in part. */
  protected override get rest(): Rest | null {
    const next = this.#nextPiece;
    return this.#pieces !== null && next > 0 && next < this.#pieces.count
      ? { pieces: this.#pieces, next }
      : null;
  }

  /** The reader cannot be sent what it missed. Idempotent. */
  #lose(): void {
    // It gets a snapshot.
    if (this.#isLost) return;
    if (!this.#hasBegun) this.giveUpText();
    else if (this.sink?.takesSnapshots === true) this.#isLost = true;
    else this.disconnect();
  }

  #take(batch: Batch): void {
    const offset = this.#offset;
    if (offset >= batch.to) return;
    const isLevel = offset >= batch.from && offset < batch.first && offset >= this.#knownTo && !this.#isLost;
    const { sink } = this;
    const isBlocked = sink === null || sink.writableLength > 0;
    if (isLevel && !isBlocked && this.#text === null) {
      this.#offset = batch.to;
      this.write(batch.text);
    } else {
      this.#isSlow ||= isBlocked;
      this.#lag();
    }
  }

  #lag(): void {
    this.#channel?.lagging.add(this);
    if (this.#channel?.covers(this.#offset) === false) this.#lose();
    else this.#pump();
  }

  #pump(): void {
    const { sink } = this;
    const channel = this.#channel;
    if (sink === null || channel === null || this.#isWaiting) return;
    this.#writePieces(sink);
    const isReady = this.#text === null && !this.#isLost && sink.writableLength === 0;
    if (isReady && channel.isOpen) this.#catchUp(channel);
  }

  /** Writes what the network takes; with more left, the reader lags. */
  protected write(text: Text): void {
    const { sink } = this;
    if (sink === null) return;
    const pieces = sink.pieces(text);
    if (pieces.count === 1) {
      sink.write(pieces.piece(0));
    } else {
      this.#begin(text);
      this.#writePieces(sink);
      if (this.#text !== null) this.#channel?.lagging.add(this);
    }
  }

  #writePieces(sink: StreamSink): void {
    if (this.#text !== null) this.#pieces ??= sink.pieces(this.#text);
    const pieces = this.#pieces;
    const onTaken = () => this.#taken(sink);
    while (pieces !== null && this.#nextPiece < pieces.count && !this.#isWaiting) {
      const piece = pieces.piece(this.#nextPiece);
      this.#nextPiece += 1;
      sink.write(piece, onTaken, this.#nextPiece < pieces.count);
      this.#isWaiting = sink.writableLength > 0;
    }
    if (this.#isWaiting) this.#retain();
    else this.#begin(null);
  }

  #taken(sink: StreamSink): void {
    // A piece that was taken at once is reported later, when another one may wait.
    if (!this.#isWaiting || sink.writableLength > 0) return;
    this.#isWaiting = false;
    this.resume();
  }

  #open(channel: Channel, { text, offset }: Opening, knownTo: number): void {
    this.#offset = offset;
    this.#knownTo = knownTo;
    this.#isLost = false;
    channel.lagging.add(this);
    this.#begin(text);
    this.#firstWrites = text.writes;
    this.#retain();
  }

  #catchUp(channel: Channel): void {
    const missed = channel.missed(this.#offset, this.#isSlow && this.#offset >= this.#knownTo);
    if (missed === null) {
      this.#lose();
      return;
    }
    this.#offset = Math.max(this.#offset, channel.sentTo);
    this.#isSlow = false;
    channel.lagging.delete(this);
    if (missed.writes > 0) this.write(missed);
  }

  /** The reader begins with this text, or has the last one. */
  #begin(text: Text | null): void {
    if (this.#text !== null) this.#owner.unsent.release(this.#text, this);
    this.#text = text;
    this.#pieces = null;
    this.#nextPiece = 0;
  }

  /** A long text counts until the reader has it; a single piece is in the socket's buffer anyway. */
  #retain(): void {
    if (this.#text !== null && this.#text.writes > 1) this.#owner.unsent.retain(this.#text, this);
  }

  protected get positionId(): string | null {
    return this.#channel?.positionId ?? null;
  }

  protected leave(): void {
    this.#channel?.readers.delete(this);
    this.#channel?.lagging.delete(this);
    this.#channel = null;
    this.#begin(null);
    this.#owner.ended(this);
  }
}
