import type { CallOptions } from '../http/transport.ts';
import { Resource } from './resource.ts';

/** Health checks. They need no token and are not retried: a retry would hide a failure. */
export class Health extends Resource {
  /** Resolves when the process responds. @throws RollcallError */
  async alive(options?: CallOptions): Promise<void> {
    await this.#check('/healthz', options);
  }

  /** Resolves when the server can serve requests: its stores respond too. @throws RollcallError */
  async ready(options?: CallOptions): Promise<void> {
    await this.#check('/readyz', options);
  }

  async #check(path: string, options?: CallOptions): Promise<void> {
    await this.transport.json('GET', path, { retries: 0, ...options }, { anonymous: true });
  }
}
