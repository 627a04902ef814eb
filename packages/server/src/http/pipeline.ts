import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests behind the first of a connection that are handled at once: each answer stays in memory until those before it are sent. */
const HANDLED_MAX = 16;
/** Requests that wait behind those. Of some 20 bytes each, three times as many can arrive together. */
const WAITING_MAX = 1_000;

/**
 * The pipelined requests of one connection: those that arrived before the answer to the one before them was sent. A client that
 * sends requests and reads no answers costs the memory of some answers; one that sends very many is cut off.
 */
export class Pipeline {
  #handled = 0;
  readonly #waiting: (() => void)[] = [];

  /** Handles a request, as soon as few enough of those before it are unanswered. */
  add(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    if (this.#waiting.length === WAITING_MAX) {
      request.socket.destroy();
      return;
    }
    this.#waiting.push(() => {
      response.once('close', () => {
        this.#handled -= 1;
        if (!request.socket.destroyed) this.#run();
      });
      handle();
    });
    this.#run();
  }

  #run(): void {
    while (this.#handled < HANDLED_MAX) {
      const handle = this.#waiting.shift();
      if (handle === undefined) return;
      this.#handled += 1;
      handle();
    }
  }
}
