import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { textMessage } from '../../wire/socket-frames.ts';

type OnTaken = (() => void) | undefined;

interface Waiting {
  readonly stream: object | null;
  readonly frames: Buffer;
  readonly hasMore: boolean;
  readonly onTaken: OnTaken;
}

/**
 * Writes the messages of a socket, each whole. A long message is written as fragments while the network takes them; what other
 * streams of the socket write meanwhile waits here. They check that before they write, so that this is little: answers, whose
 * requests are not read while something waits, and one text of each conversation.
 */
export class FrameWriter {
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #onReady: () => void;
  /** The stream that is in the middle of a message. */
  #owner: object | null = null;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  /** The network has not taken everything, and reports when it has. */
  #isBlocked = false;
  #isNotifying = false;
  readonly #onTaken = () => {
    if (!this.#isBlocked || this.#socket.writableLength > 0) return;
    this.#isBlocked = false;
    this.#notify();
  };

  /** @param onReady called when the network has taken everything, or a long message has been written */
  constructor(ws: WebSocket, socket: Socket, onReady: () => void) {
    this.#ws = ws;
    this.#socket = socket;
    this.#onReady = onReady;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  /**
   * Bytes that are before the next ones of a stream; more than 0 also while another stream is in the middle of a message. What
   * waits for that message is not before its own rest.
   */
  lengthFor(stream: object | null): number {
    const isTaken = this.#owner !== null && this.#owner !== stream;
    return this.#socket.writableLength + (isTaken ? this.#waitingBytes + 1 : 0);
  }

  /** Writes whole frames. With `hasMore` the next frames of the stream continue the message. Nothing follows a close frame. */
  write(stream: object | null, frames: Buffer, hasMore = false, onTaken: OnTaken = undefined): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (this.#owner !== null && this.#owner !== stream) {
      this.#waiting.push({ stream, frames, hasMore, onTaken });
      this.#waitingBytes += frames.length;
      return;
    }
    this.#send(stream, frames, hasMore, onTaken);
    if (this.#owner === null && this.#waiting.length > 0) this.#flush();
  }

  /** Writes a text message by itself. */
  send(text: string): void {
    this.write(null, textMessage(text));
  }

  #send(stream: object | null, frames: Buffer, hasMore: boolean, onTaken: OnTaken): void {
    const wasTaken = this.#owner !== null;
    this.#owner = hasMore ? stream : null;
    const taken = this.#onTaken;
    this.#socket.write(
      frames,
      onTaken === undefined
        ? taken
        : () => {
            onTaken();
            taken();
          },
    );
    if (this.#socket.writableLength > 0) this.#isBlocked = true;
    if (wasTaken && !hasMore) this.#notify();
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const { stream, frames, hasMore, onTaken } of waiting) this.write(stream, frames, hasMore, onTaken);
  }

  /** Notifies in a microtask of its own: the stream that has just written has not returned yet. */
  #notify(): void {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    queueMicrotask(() => {
      this.#isNotifying = false;
      this.#onReady();
    });
  }
}
