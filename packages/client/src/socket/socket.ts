import { reasonOf } from '../http/deadline.ts';
import { pause } from '../http/pause.ts';
import { listen } from '../listen.ts';
import { errorIn, objectIn, RollcallError } from '../rollcall-error.ts';
import type { ReceivedEvent } from '../streams/received-event.ts';

/** A frame without its `ref`. */
export type Frame = Readonly<Record<string, unknown>> & { readonly op: string };

/** The socket is lost. What used it goes on when there is another one. */
export class SocketLost extends RollcallError {
  /** The code with which the server closed the socket; 1006 where it did not. */
  readonly closeCode: number;

  constructor(message: string, closeCode = 1006) {
    super('network', message);
    this.closeCode = closeCode;
  }
}

interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: RollcallError) => void;
}

interface Answer {
  readonly ref?: number;
  readonly error?: string;
  readonly watch?: number;
  readonly event?: string;
  readonly id?: string;
  readonly data?: unknown;
  readonly in?: number;
}

const PROTOCOL = 'rollcall.v1';
/** The status of `invalid_request`: a limit of the server rejects a frame so, and will accept it later. */
export const LIMITED = 429;
const ANSWER_TIMEOUT_MS = 10_000;
/** The server closes a socket with a larger frame. */
const FRAME_MAX_BYTES = 65_536;
/** 40 frames a second after a burst of 150: the server closes a socket with more than 50 after a burst of 200. */
const FRAME_EVERY_MS = 25;
const BURST_MS = 150 * FRAME_EVERY_MS;
/** What waits for the opening, among the numbers of frames. */
const OPENING = 0;
const LATE = 'no answer in time';
/** How long before the end of a token the server reports it, where it does not say. */
const EXPIRING_S = 60;
/** The reason where the client itself closed the socket. */
export const CLOSED = 'the socket is closed';

/** One WebSocket, from its opening to its end: numbers the frames, and gives answers and events to whom they concern. */
export class Socket {
  /** Resolves with the reason. */
  readonly ended: Promise<SocketLost>;
  #ws: WebSocket | undefined;
  readonly #pending = new Map<number, Pending>();
  readonly #watches = new Map<number, (event: ReceivedEvent) => void>();
  readonly #onExpiring: (seconds: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ref = 0;
  #permits: Promise<void> = Promise.resolve();
  /** When a frame can be sent without a burst. */
  #nextFrameAt = Number.NEGATIVE_INFINITY;
  #end!: (error: SocketLost) => void;
  #isOver = false;

  /** @param onExpiring called when the token ends in so many seconds */
  constructor(onExpiring: (seconds: number) => void) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#onExpiring = onExpiring;
  }

  /** Opens it, once; resolves when frames can be sent. @throws SocketLost */
  async open(url: string): Promise<void> {
    try {
      this.#ws = new WebSocket(url, PROTOCOL);
    } catch (cause) {
      // As Firefox does where the page's Content-Security-Policy names no socket.
      throw new SocketLost(reasonOf(cause));
    }
    listen(this.#ws, 'message', (event) => this.#receive(String((event as { data?: unknown }).data)));
    listen(this.#ws, 'close', (event) => {
      const { code, reason } = event as { code?: number; reason?: string };
      this.#finish(reason || `closed (${code})`, code);
    });
    listen(this.#ws, 'open', () => this.#pending.get(OPENING)?.resolve());
    await this.#answered(OPENING);
  }

  /**
   * Sends a frame, after those before it, as soon as the server takes it; resolves with its `ref` when it is answered. One whose
   * signal aborts before is not sent, and takes no time. @throws RollcallError; SocketLost without an answer
   */
  async request(
    frame: Frame,
    onEvent?: (event: ReceivedEvent) => void,
    signal?: AbortSignal,
  ): Promise<number> {
    this.#permits = this.#permits.then(() => (this.#isOver || signal?.aborted ? undefined : this.#pace()));
    await this.#permits;
    if (this.#isOver || signal?.aborted) throw new SocketLost(CLOSED);
    this.#ref += 1;
    const ref = this.#ref;
    const text = JSON.stringify({ ...frame, ref });
    if (new TextEncoder().encode(text).length > FRAME_MAX_BYTES)
      throw new RollcallError('invalid_request', `a frame has at most ${FRAME_MAX_BYTES} bytes`, {
        status: 413,
      });
    if (onEvent !== undefined) this.#watches.set(ref, onEvent);
    try {
      this.#ws?.send(text);
      await this.#answered(ref);
      return ref;
    } catch (error) {
      this.#watches.delete(ref);
      throw error;
    }
  }

  /** Waits until the server takes another frame. */
  async #pace(): Promise<void> {
    const now = performance.now();
    const waitMs = Math.max(this.#nextFrameAt - now, -BURST_MS) + FRAME_EVERY_MS;
    this.#nextFrameAt = now + waitMs;
    if (waitMs > 0) await pause(waitMs);
  }

  /** Ends a watch. What the server still sends of it is passed over. Of no watch it checks that the connection is alive. */
  unwatch(watch = 0): void {
    if (!watch || this.#watches.delete(watch)) this.request({ op: 'unwatch', watch }).catch(() => {});
  }

  /** Closes it with code 1000, after which the server releases at once what it held. */
  close(reason: string = CLOSED): void {
    this.#ws?.close(1_000);
    this.#finish(reason);
  }

  /** @throws RollcallError; SocketLost without an answer */
  async #answered(ref: number): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#pending.set(ref, { resolve, reject });
        if (this.#pending.size === 1) this.#expectAnswer();
      });
    } finally {
      this.#pending.delete(ref);
      this.#expectAnswer();
    }
  }

  /** The server answers one frame after the other, so an answer can take longer while others come. */
  #expectAnswer(): void {
    clearTimeout(this.#timer);
    if (this.#pending.size > 0) this.#timer = setTimeout(() => this.close(LATE), ANSWER_TIMEOUT_MS);
  }

  #receive(text: string): void {
    if (this.#isOver) return;
    const answer: Answer = objectIn(text);
    const { ref, error, watch, event = '', id = '', data, in: seconds = EXPIRING_S } = answer;
    const pending = this.#pending.get(ref as number);
    if (watch !== undefined) {
      const onEvent = this.#watches.get(watch);
      if (event === 'ended') this.#watches.delete(watch);
      onEvent?.({ type: event === 'ended' ? 'error' : event, data, id });
    } else if (event === 'expiring') this.#onExpiring(seconds);
    else if (error === undefined) pending?.resolve();
    else
      pending?.reject(errorIn(answer, 'error', error, { status: error === 'invalid_request' ? LIMITED : 0 }));
  }

  #finish(reason: string, code?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = new SocketLost(reason, code);
    for (const { reject } of this.#pending.values()) reject(error);
    for (const onEvent of this.#watches.values()) onEvent({ type: 'lost', data: error, id: '' });
    this.#watches.clear();
    this.#end(error);
  }
}
