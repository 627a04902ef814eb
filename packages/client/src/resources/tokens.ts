import type { CallOptions, Transport } from '../http/transport.ts';
import type { Authorized, Done } from '../protocol.ts';

/** Access tokens: for a part of your system that is not to have the project's secret. */
export class Tokens {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Exchanges an app token for an access token. Needs no other token. @throws RollcallError */
  async authorize(signedAppToken: string, options?: CallOptions): Promise<Authorized> {
    const body = { signed_app_token: signedAppToken };
    return this.#transport.json({ method: 'POST', path: '/v1/authorize', body, anonymous: true }, options);
  }

  /** Revokes the access token that this client uses. @throws RollcallError */
  async revoke(options?: CallOptions): Promise<Done> {
    return this.#transport.json({ method: 'DELETE', path: '/v1/authorize' }, options);
  }
}
