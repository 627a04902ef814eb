/** A client that sends requests on one connection, and records how the connection ends. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';

export interface ConnectionEnd {
  readonly sent: number;
  readonly answered: number;
  /** The statuses of the responses, in order. */
  readonly statuses: readonly number[];
  /** The responses with `Connection: close`, as positions in {@link statuses}. */
  readonly closing: readonly number[];
  /** The code of a connection error, such as a reset. */
  readonly error: string | null;
}

export interface ClientOptions {
  /** The bytes of the next request. */
  readonly next: (index: number) => string;
  /** How many requests are sent together; the next ones follow when all of these are answered. */
  readonly depth: number;
  readonly onAnswer: () => void;
}

const HEAD = /^HTTP\/1\.1 (\d{3})[\s\S]*?\r\n\r\n/;

/** Sends requests until a response or the server closes the connection. */
export async function sendUntilClosed(url: string, options: ClientOptions): Promise<ConnectionEnd> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding('latin1').setNoDelay();
  const answers = new Answers(socket, options.onAnswer);
  let sent = 0;
  while (!answers.isClosed && answers.closing.length === 0) {
    const requests = Array.from({ length: options.depth }, (_, index) => options.next(sent + index));
    socket.write(requests.join(''));
    sent += options.depth;
    await answers.reach(sent);
    // A FIN that has arrived is noticed before the next request is sent.
    await nextIteration();
  }
  await answers.end();
  const { statuses, closing, error } = answers;
  return { sent, answered: statuses.length, statuses, closing, error };
}

class Answers {
  readonly statuses: number[] = [];
  readonly closing: number[] = [];
  readonly #socket: Socket;
  #text = '';
  #isEnded = false;
  #error: string | null = null;
  #onProgress: () => void = () => {};

  constructor(socket: Socket, onAnswer: () => void) {
    this.#socket = socket;
    socket.on('data', (text) => {
      this.#text += String(text);
      while (this.#take()) onAnswer();
      this.#onProgress();
    });
    socket.on('end', () => {
      this.#isEnded = true;
      this.#onProgress();
    });
    socket.on('close', () => this.#onProgress());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = error.code ?? error.message;
    });
  }

  get error(): string | null {
    return this.#error;
  }

  get isClosed(): boolean {
    return this.#isEnded || this.#socket.destroyed;
  }

  async reach(count: number): Promise<void> {
    while (this.statuses.length < count && !this.isClosed) {
      await new Promise<void>((resolve) => {
        this.#onProgress = resolve;
      });
    }
  }

  async end(): Promise<void> {
    if (!this.#socket.destroyed) await once(this.#socket, 'close').catch(() => {});
  }

  /** Removes one complete response from the text. */
  #take(): boolean {
    const [head, status] = HEAD.exec(this.#text) ?? [];
    if (head === undefined) return false;
    const length = head.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#text.length < length) return false;
    if (/^connection: close\r$/im.test(head)) this.closing.push(this.statuses.length);
    this.statuses.push(Number(status));
    this.#text = this.#text.slice(length);
    return true;
  }
}
