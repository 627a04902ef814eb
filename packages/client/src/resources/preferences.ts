import { path } from '../http/path.ts';
import type { CallOptions } from '../http/transport.ts';
import type { Done, Preference, PreferenceWrite } from '../protocol.ts';
import { Resource } from './resource.ts';

/** Users' notification preferences. */
export class Preferences extends Resource {
  /** @throws RollcallError */
  async get(userID: string, options?: CallOptions): Promise<Preference[]> {
    return this.transport.json({ method: 'GET', path: path`/v1/users/${userID}/preferences` }, options);
  }

  /** Merges: fields that are not supplied do not change. @throws RollcallError */
  async put(userID: string, write: PreferenceWrite, options?: CallOptions): Promise<Done> {
    const request = { method: 'PUT', path: path`/v1/users/${userID}/preferences`, body: write } as const;
    return this.transport.json(request, options);
  }
}
