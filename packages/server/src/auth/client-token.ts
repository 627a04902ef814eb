import { tokenFailure } from '../core/token-failure.ts';
import { isClientToken, type Resolver } from './resolver.ts';

/** Keeps client tokens, which a browser holds, away from what only a host may do. */
export const refuseClientToken: Resolver<never> = (token) =>
  isClientToken(token)
    ? Promise.reject(
        tokenFailure('invalid_access_token', 'a client token (one with user_id) does not open this endpoint'),
      )
    : null;
