import type { CallOptions } from '../http/transport.ts';
import type { Authorized, Done } from '../protocol.ts';
import { Resource } from './resource.ts';

/** Access tokens: for a part of your system that must not have the project's secret. */
export class Tokens extends Resource {
  /** Exchanges an app token for an access token. Sent without another token. @throws RollcallError */
  async authorize(signedAppToken: string, options?: CallOptions): Promise<Authorized> {
    const body = { signed_app_token: signedAppToken };
    return this.transport.json('POST', '/v1/authorize', options, { body, anonymous: true });
  }

  /** Revokes the access token that this client uses. @throws RollcallError */
  async revoke(options?: CallOptions): Promise<Done> {
    return this.transport.json('DELETE', '/v1/authorize', options);
  }
}
