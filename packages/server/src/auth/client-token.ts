import { tokenFailure } from '../core/clients/token-failure.ts';
import { type AuthenticatedClient, clientClaims } from './client-claims.ts';
import type { Jwt } from './jwt.ts';
import type { KnownProjects } from './known-projects.ts';
import { APP_TOKEN, PROJECT_TOKEN, type ProjectTokenKind, verifyProjectToken } from './project-token.ts';
import { isClientToken, type Resolver, type VerifiedOfProject } from './resolver.ts';

/** Rejects client tokens, which browsers have, where only a host may call. */
export const rejectClientToken: Resolver<never> = (token) =>
  isClientToken(token)
    ? Promise.reject(
        tokenFailure('invalid_access_token', 'a client token (one with user_id) does not open this endpoint'),
      )
    : null;

/** Tokens with `user_id`; all other tokens are of other kinds. */
export function clientTokenResolver(
  projects: KnownProjects,
): Resolver<VerifiedOfProject<AuthenticatedClient>> {
  return (token, now) => {
    if (!isClientToken(token)) return null;
    const kind = [PROJECT_TOKEN, APP_TOKEN].find(({ claim }) => Object.hasOwn(token.claims, claim));
    return kind === undefined ? null : callerOf(projects, kind, token, now);
  };
}

/** The claims are read only after the signature of the token's project is verified. */
async function callerOf(
  projects: KnownProjects,
  kind: ProjectTokenKind,
  token: Jwt,
  now: number,
): Promise<VerifiedOfProject<AuthenticatedClient>> {
  const { project, ...ends } = await verifyProjectToken(projects, kind, token, now);
  const claims = clientClaims(token, kind);
  const caller = {
    actor: { kind: 'client_token', id: claims.userId } as const,
    projectId: project.id,
    project: project.key,
    sessionId: null,
    ...claims,
  };
  return { caller: Object.freeze(caller), basis: project, ...ends };
}
