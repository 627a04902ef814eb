import { path } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Done, Preference, PreferenceWrite } from '../protocol.ts';

/** How users want to be reached. */
export class Preferences {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** @throws RollcallError */
  async get(userID: string, options?: CallOptions): Promise<Preference[]> {
    return this.#transport.json({ method: 'GET', path: path`/v1/users/${userID}/preferences` }, options);
  }

  /** Merges: what is not supplied stays as it is. @throws RollcallError */
  async put(userID: string, write: PreferenceWrite, options?: CallOptions): Promise<Done> {
    const request = { method: 'PUT', path: path`/v1/users/${userID}/preferences`, body: write } as const;
    return this.#transport.json(request, options);
  }
}
