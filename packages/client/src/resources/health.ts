import type { CallOptions, Transport } from '../http/transport.ts';

/** Whether the server is there. Needs no token, and is asked once: a retry would hide what is asked for. */
export class Health {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Resolves when the process answers. @throws RollcallError */
  async alive(options?: CallOptions): Promise<void> {
    await this.#ask('/healthz', options);
  }

  /** Resolves when it can serve requests: its stores answer too. @throws RollcallError */
  async ready(options?: CallOptions): Promise<void> {
    await this.#ask('/readyz', options);
  }

  async #ask(path: string, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'GET', path, anonymous: true }, { retries: 0, ...options });
  }
}
