/** A TCP connection on which a test writes whatever bytes it wants. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #ended = false;

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text) => {
      this.#received += String(text);
    });
    this.#socket.on('close', () => {
      this.#ended = true;
    });
    // A server that hangs up on nonsense may reset the connection; that it did is all a test wants to know.
    this.#socket.on('error', () => {});
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
