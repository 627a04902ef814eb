import type { ClientCaller } from '../core/caller.ts';
import { tokenFailure } from '../core/token-failure.ts';
import type { Store } from '../store/store.ts';
import { clientClaims } from './client-claims.ts';
import type { Jwt } from './jwt.ts';
import { APP_TOKEN, PROJECT_TOKEN, type ProjectTokenKind, verifyProjectToken } from './project-token.ts';
import { isClientToken, type Resolver, type Verified } from './resolver.ts';

/** Keeps client tokens, which a browser holds, away from what only a host may do. */
export const refuseClientToken: Resolver<never> = (token) =>
  isClientToken(token)
    ? Promise.reject(
        tokenFailure('invalid_access_token', 'a client token (one with user_id) does not open this endpoint'),
      )
    : null;

/** Tokens with `user_id`; whatever else a host or a customer may hold is not of this kind. */
export function clientTokenResolver(store: Store): Resolver<ClientCaller> {
  return (token, now) => {
    if (!isClientToken(token)) return null;
    const kind = [PROJECT_TOKEN, APP_TOKEN].find(({ claim }) => Object.hasOwn(token.claims, claim));
    return kind === undefined ? null : callerOf(store, kind, token, now);
  };
}

/** Nothing is read of a token that its project has not signed. */
async function callerOf(
  store: Store,
  kind: ProjectTokenKind,
  token: Jwt,
  now: number,
): Promise<Verified<ClientCaller>> {
  const { caller: project, endsAt } = await verifyProjectToken(store, kind, token, now);
  const caller = {
    projectId: project.id,
    project: project.key,
    sessionId: null,
    ...clientClaims(token, kind),
  };
  return { caller: Object.freeze(caller), endsAt };
}
