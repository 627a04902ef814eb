import { path } from '../http/path.ts';
import type { CallOptions } from '../http/transport.ts';
import type { Done, Preference, PreferenceWrite } from '../protocol.ts';
import { Resource } from './resource.ts';

/** Users' notification preferences. */
export class Preferences extends Resource {
  /** @throws RollcallError */
  async get(userID: string, options?: CallOptions): Promise<Preference[]> {
    return this.transport.json('GET', path`/v1/users/${userID}/preferences`, options);
  }

  /** Merges: fields that are not supplied do not change. @throws RollcallError */
  async put(userID: string, body: PreferenceWrite, options?: CallOptions): Promise<Done> {
    return this.transport.json('PUT', path`/v1/users/${userID}/preferences`, options, { body });
  }
}
