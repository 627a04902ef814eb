import type { ServiceError } from '../../core/service-error.ts';
import { heartbeatText } from '../../wire/event-text.ts';
import { commentOf } from '../text/events-text.ts';
import type { Text } from '../text/pieces.ts';
import type { Beginnings } from './beginnings.ts';
import { StallWatch } from './stall-watch.ts';
import type { SessionRequest, Watcher } from './stream-request.ts';
import type { Rest, StreamSink } from './stream-sink.ts';

/** One reader of a stream: it is started once, and ends once. Nothing is sent before {@link start}. */
export abstract class Session<Request extends SessionRequest = SessionRequest> implements Watcher {
  readonly request: Request;
  /** Null before the start. */
  protected sink: StreamSink | null = null;
  readonly #stall = new StallWatch();
  #ending: ServiceError | 'closed' | null = null;

  constructor(request: Request) {
    this.request = request;
  }

  /** Why the stream ended, or null. */
  get ending(): ServiceError | 'closed' | null {
    return this.#ending;
  }

  get groupIds(): readonly string[] {
    const { groupId } = this.request;
    return groupId === undefined ? [] : [groupId];
  }

  start(sink: StreamSink): void {
    this.sink = sink;
    if (this.#ending === null) this.beginnings.add(this);
    else if (this.#ending === 'closed') sink.destroy();
    else sink.end(this.#ending, null);
  }

  /** Whether the reader was not sent all events. */
  abstract get isBehind(): boolean;

  /** Continues where the network stopped taking bytes. Idempotent. */
  abstract resume(): void;

  /** Sends a reader who has everything a sign of life, and disconnects one whose network takes nothing. */
  heartbeat(): void {
    const { sink } = this;
    if (sink === null) return;
    if (this.#stall.isStalled(sink)) this.disconnect();
    else if (!this.isBehind && sink.writableLength === 0)
      this.write(commentOf(heartbeatText(this.positionId)));
  }

  /** Ends the stream with an error event. A reader who lags gets the error when it reconnects. */
  end(error: ServiceError): void {
    if (this.#ending !== null) return;
    this.#ending = error;
    try {
      this.sink?.end(error, this.rest);
    } finally {
      this.leave();
    }
  }

  loseGroup(_groupId: string, error: ServiceError): void {
    this.end(error);
  }

  /** Ends the connection without an event; the reader reconnects and resumes. */
  disconnect(): void {
    this.sink?.destroy();
    this.close();
  }

  /** The server stops: bytes that the network has not taken are not waited for. */
  stop(): void {
    this.sink?.stop();
    this.close();
  }

  /** The reader wants no more events. A text that it is in the middle of is written to its end. Idempotent. */
  finish(): void {
    if (this.#ending !== null) return;
    const { rest } = this;
    this.close();
    if (rest !== null) this.sink?.finish(rest);
  }

  /** The reader has disconnected. Idempotent. */
  close(): void {
    if (this.#ending !== null) return;
    this.#ending = 'closed';
    this.leave();
  }

  /** What the reader has not got of the text that it is in the middle of. */
  protected get rest(): Rest | null {
    return null;
  }

  /** The streams of this process that begin. */
  protected abstract get beginnings(): Beginnings;
  /** About how many pieces the first text has. */
  abstract get firstWrites(): number;
  /** Sends what the reader begins with, in its order among those of {@link beginnings}. */
  abstract begins(): void;
  /** The ID of the position up to which a reader who is not behind has everything; null where that is not known. */
  protected abstract get positionId(): string | null;
  /** Called once the stream has ended, for whatever reason. */
  protected abstract leave(): void;
  protected abstract write(text: Text): void;
}
