/** A client of the socket that does less work per frame than any server: its frames are not masked, and it counts what arrives. */
import { connect, type Socket } from 'node:net';

const TEXT = 0x81;
const CLOSE = 0x88;
const PING = 0x89;
const PONG = 0x8a;
const MASKED = 0x80;
const MASK_BYTES = 4;
/** In `{"ref":…}` the third character is an `r`; an answer that is an error ends with `"}`. */
const REF = 'r'.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const HEAD_END = '\r\n\r\n';
/** Status 1000 of a close: the page has ended as it should. */
const NORMAL_CLOSURE = '\x03\xe8';
/** So many connections are opened at once: the accept queue of the system, and the server's bound on sockets that log in. */
const OPENED_AT_ONCE = 50;
const NO_BYTES = Buffer.alloc(0);
/** All sockets read into it, one at a time: a buffer for each read would be collected, and delay the moves that are due meanwhile. */
const readBuffer = Buffer.alloc(65_536);

/** A client's text frame; a mask of zeros leaves the bytes as they are. */
export function clientFrame(text: string, kind = TEXT): Buffer {
  const payload = Buffer.from(text, 'latin1');
  const isShort = payload.length < 126;
  const head = Buffer.alloc((isShort ? 2 : 4) + MASK_BYTES);
  head[0] = kind;
  head[1] = MASKED | (isShort ? payload.length : 126);
  if (!isShort) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

/** Gets the bytes of a message that is no answer, or of the last fragment of one. */
export type OnEvent = (bytes: Buffer, from: number, end: number) => void;

export class BenchSocket {
  /** How many messages, or last fragments of one, were no answers. */
  events = 0;
  onAnswer: () => void = () => {};
  readonly #socket: Socket;
  readonly #onEvent: OnEvent | undefined;
  #rest: Buffer = NO_BYTES;
  #onHead: (() => void) | null;

  constructor(port: number, onHead: () => void, onError: (error: Error) => void, onEvent?: OnEvent) {
    this.#onHead = onHead;
    this.#onEvent = onEvent;
    this.#socket = connect({
      ...{ host: '127.0.0.1', port, noDelay: true },
      onread: { buffer: readBuffer, callback: (length) => this.#receive(readBuffer.subarray(0, length)) },
    });
    this.#socket.once('error', onError);
    this.#socket.once('close', () => onError(new Error('the server closed a socket')));
    this.#socket.write(
      'GET /v1/client/socket HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
        'Sec-WebSocket-Protocol: rollcall.v1\r\n\r\n',
    );
  }

  send(frame: Buffer): void {
    this.#socket.write(frame);
  }

  /** Sends a frame and waits for its answer. */
  request(frame: object): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onAnswer = resolve;
    this.send(clientFrame(JSON.stringify(frame)));
    return promise;
  }

  /** Ends the connection as a page does that is left. */
  close(): void {
    this.send(clientFrame(NORMAL_CLOSURE, CLOSE));
  }

  /** Ends the connection with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Answers nothing any more, pings neither. The connection stays open. */
  vanish(): void {
    this.#socket.pause();
  }

  /** Returns whether more is to be read. */
  #receive(chunk: Buffer): boolean {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#onHead !== null) {
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) {
        this.#rest = Buffer.from(bytes);
        return true;
      }
      if (!bytes.subarray(0, 12).equals(Buffer.from('HTTP/1.1 101'))) throw new Error(bytes.toString());
      bytes = bytes.subarray(end + HEAD_END.length);
      this.#onHead();
      this.#onHead = null;
    }
    let at = 0;
    while (at + 2 <= bytes.length) {
      const short = bytes[at + 1] as number;
      const from = at + (short < 126 ? 2 : 4);
      if (from > bytes.length) break;
      const end = from + (short < 126 ? short : bytes.readUInt16BE(at + 2));
      if (end > bytes.length) break;
      this.#take(bytes, at, from, end);
      at = end;
    }
    this.#rest = at === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(at));
    return true;
  }

  #take(bytes: Buffer, at: number, from: number, end: number): void {
    const kind = bytes[at] as number;
    if (kind === PING) this.send(clientFrame(bytes.toString('latin1', from, end), PONG));
    else if (kind === TEXT && bytes[from + 2] === REF) {
      if (bytes[end - 2] === QUOTE) throw new Error(bytes.toString('utf8', from, end));
      this.onAnswer();
    } else if ((kind & MASKED) !== 0) {
      this.events += 1;
      this.#onEvent?.(bytes, from, end);
    }
  }
}

/**
 * Opens so many sockets, each with the frames that `first` gives, one after the other; `onEvent` makes what each of them gives its
 * events to.
 */
export async function openSockets(
  port: number,
  count: number,
  first: (index: number) => Promise<readonly object[]>,
  onEvent: (index: number) => OnEvent | undefined = () => undefined,
): Promise<BenchSocket[]> {
  const sockets: BenchSocket[] = [];
  const open = async (index: number) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = new BenchSocket(port, resolve, reject, onEvent(index));
    sockets[index] = socket;
    await promise;
    for (const frame of await first(index)) await socket.request(frame);
  };
  for (let from = 0; from < count; from += OPENED_AT_ONCE) {
    const length = Math.min(OPENED_AT_ONCE, count - from);
    await Promise.all(Array.from({ length }, (_, offset) => open(from + offset)));
  }
  return sockets;
}
