import { tokenFailure } from '../core/clients/token-failure.ts';
import type { TokenIssuer } from '../core/clients/token-service.ts';
import type { Store } from '../store/store.ts';
import { parseJwt } from './jwt.ts';
import { APP_TOKEN, verifyProjectToken } from './project-token.ts';
import { isClientToken } from './resolver.ts';
import { mintAccessToken } from './sign.ts';

/** Signs access tokens with the service's own key, for those who present an app token. */
export function createTokenIssuer(store: Store, serviceKey: Uint8Array): TokenIssuer {
  return {
    async projectOfAppToken(signedAppToken, now) {
      const token = parseJwt(signedAppToken);
      if (token === null || isClientToken(token) || !Object.hasOwn(token.claims, APP_TOKEN.claim)) {
        throw tokenFailure('invalid_app_token', 'signed_app_token is not an app token (a JWT with app_id)');
      }
      return (await verifyProjectToken(store.projects, APP_TOKEN, token, now)).project;
    },
    signAccessToken: (sessionId, issuedAt) => mintAccessToken(sessionId, serviceKey, issuedAt),
  };
}
