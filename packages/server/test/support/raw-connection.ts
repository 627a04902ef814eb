/** A TCP connection on which a test writes whatever bytes it wants. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #ended = false;
  #error: string | null = null;

  /** With `allowHalfOpen` it keeps its side open when the server has ended its own. */
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
    // A server that hangs up on nonsense may reset the connection: not every test cares.
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#error = error.code ?? error.message;
    });
  }

  /** How the connection broke, or null. */
  get error(): string | null {
    return this.#error;
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** What has come so far, once it satisfies the condition or the server hung up. */
  async received(until: (text: string) => boolean): Promise<string> {
    while (!until(this.#received) && !this.#ended) {
      await Promise.race([once(this.#socket, 'data'), once(this.#socket, 'close')]);
    }
    return this.#received;
  }

  /** All that comes until the server hangs up. */
  closed(): Promise<string> {
    return this.received(() => false);
  }

  /** All that comes until the server ends its side. */
  async ended(): Promise<string> {
    while (!this.#socket.readableEnded && !this.#ended) {
      await Promise.race([once(this.#socket, 'end'), once(this.#socket, 'close')]);
    }
    return this.#received;
  }

  /** Sends no more, and goes on listening. */
  end(): void {
    this.#socket.end();
  }

  /** Hangs up without a goodbye. */
  destroy(): void {
    this.#socket.destroy();
  }
}

/** The status lines of the answers in a text. */
export const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
