/** A TCP connection on which a test writes any bytes. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #ended = false;
  #error: string | null = null;

  /** With `allowHalfOpen`, this side stays open when the server has ended its side. */
  constructor(url: string, { allowHalfOpen = false } = {}) {
    const { hostname, port } = new URL(url);
    this.#socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text) => {
      this.#received += String(text);
    });
    this.#socket.on('close', () => {
      this.#ended = true;
    });
    // The server can reset the connection after invalid bytes; only some tests check that.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = error.code ?? error.message;
    });
  }

  /** The code of the connection error, or null. */
  get error(): string | null {
    return this.#error;
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** All received text, once it meets the condition or the connection is closed. */
  async received(until: (text: string) => boolean): Promise<string> {
    while (!until(this.#received) && !this.#ended) {
      await Promise.race([once(this.#socket, 'data'), once(this.#socket, 'close')]);
    }
    return this.#received;
  }

  /** All text until the connection is closed. */
  closed(): Promise<string> {
    return this.received(() => false);
  }

  /** All text until the server ends its side. */
  async ended(): Promise<string> {
    while (!this.#socket.readableEnded && !this.#ended) {
      await Promise.race([once(this.#socket, 'end'), once(this.#socket, 'close')]);
    }
    return this.#received;
  }

  /** Reads nothing until {@link resume}. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends this side; the server can still send. */
  end(): void {
    this.#socket.end();
  }

  /** Closes the connection with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Closes the connection without ending it. */
  destroy(): void {
    this.#socket.destroy();
  }
}

/** The statuses of the responses in a text. */
export const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

/** The head of a request with a token. */
export const requestHead = (token: string, line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...headers, '', ''].join('\r\n');
