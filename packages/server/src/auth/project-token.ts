import { type ErrorCode, isId } from '@rollcall/protocol';
import type { Caller } from '../core/caller.ts';
import { tokenFailure } from '../core/clients/token-failure.ts';
import type { ProjectRecord } from '../store/ports/projects.ts';
import type { ActorKind } from '../store/write-context.ts';
import type { Jwt } from './jwt.ts';
import type { KnownProjects } from './known-projects.ts';
import type { Resolver, Verified } from './resolver.ts';
import { isSignedWith, secretKey } from './signature.ts';
import { tokenLife } from './token-life.ts';

/** A kind of token that is signed with a project's secret: under which claim it names the project, and how it fails. */
export interface ProjectTokenKind {
  readonly claim: string;
  readonly name: string;
  readonly actor: ActorKind;
  readonly notFound: ErrorCode;
  readonly invalid: ErrorCode;
}

export const PROJECT_TOKEN: ProjectTokenKind = {
  claim: 'project_id',
  name: 'project',
  actor: 'project_token',
  notFound: 'project_not_found',
  invalid: 'invalid_project_token',
};

/** The same thing under a project's older name. */
export const APP_TOKEN: ProjectTokenKind = {
  claim: 'app_id',
  name: 'app',
  actor: 'app_token',
  notFound: 'application_not_found',
  invalid: 'invalid_app_token',
};

export function projectTokenResolver(
  projects: KnownProjects,
  kind: ProjectTokenKind,
): Resolver<Verified<Caller>> {
  return (token, now) =>
    Object.hasOwn(token.claims, kind.claim) ? callerOf(projects, kind, token, now) : null;
}

async function callerOf(
  projects: KnownProjects,
  kind: ProjectTokenKind,
  token: Jwt,
  now: number,
): Promise<Verified<Caller>> {
  const { project, endsAt } = await verifyProjectToken(projects, kind, token, now);
  const actor = { kind: kind.actor, id: project.id };
  const caller = Object.freeze({ actor, projectId: project.id, project: project.key, sessionId: null });
  return { caller, basis: project, endsAt };
}

/**
 * The project that the token names and is signed by; `endsAt` and `namedEnd` are those of a verified token.
 * @throws ServiceError the kind's `notFound` and `invalid`
 */
export async function verifyProjectToken<P extends ProjectRecord>(
  projects: { find(id: string): Promise<P | null> },
  kind: ProjectTokenKind,
  token: Jwt,
  now: number,
): Promise<{ readonly project: P; readonly namedEnd: number; readonly endsAt: number }> {
  const id = token.claims[kind.claim];
  if (!isId(id)) throw tokenFailure(kind.invalid, `${kind.claim} of the ${kind.name} token is not an ID`);
  const project = await projects.find(id);
  if (project === null)
    throw tokenFailure(kind.notFound, `the ${kind.name} ID ${id} of the token does not exist`);
  const signedUntil = signatureEnd(token, project);
  if (signedUntil <= now)
    throw tokenFailure(kind.invalid, `the ${kind.name} token is not signed with the project's secret`);
  const life = tokenLife(token.claims, now);
  if (life.state !== 'current')
    throw tokenFailure(kind.invalid, `the ${kind.name} token is not within its time`);
  return {
    project,
    namedEnd: Math.min(life.namedEnd, signedUntil),
    endsAt: Math.min(life.endsAt, signedUntil),
  };
}

/** Until when the token's signature is good: for ever, to the end of the previous secret, or (0) not at all. */
function signatureEnd(token: Jwt, project: ProjectRecord): number {
  if (isSignedWith(token, secretKey(project.secret))) return Number.POSITIVE_INFINITY;
  const { previousSecret, previousValidUntil } = project;
  if (previousSecret === null || previousValidUntil === null) return 0;
  return isSignedWith(token, secretKey(previousSecret)) ? previousValidUntil : 0;
}
