import type { Caller } from '../core/caller.ts';
import { tokenFailure } from '../core/clients/token-failure.ts';
import { CLOCK_TOLERANCE_MS } from '../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { Jwt } from './jwt.ts';
import type { Resolver, Verified } from './resolver.ts';
import { isSignedWith } from './signature.ts';
import { tokenLife } from './token-life.ts';

/** The claim that makes a token one of ours: the ID of its session. */
export const SESSION_CLAIM = 'session_id';

const invalid = () =>
  tokenFailure('invalid_access_token', 'the access token is not one that this service issued');
const expired = () =>
  tokenFailure('expired_access_token', 'the access token is expired or revoked; request another one');

export const accessTokenResolver =
  (store: Store, serviceKey: Uint8Array): Resolver<Verified<Caller>> =>
  (token, now) =>
    Object.hasOwn(token.claims, SESSION_CLAIM) ? callerOf(store, serviceKey, token, now) : null;

/** The signature is checked first: the error of another service's token does not depend on its life. */
async function callerOf(
  store: Store,
  serviceKey: Uint8Array,
  token: Jwt,
  now: number,
): Promise<Verified<Caller>> {
  const sessionId = token.claims[SESSION_CLAIM];
  if (typeof sessionId !== 'string' || !isSignedWith(token, serviceKey)) throw invalid();
  const life = tokenLife(token.claims, now);
  // Before the session is read, because ended sessions are deleted after a while.
  if (life.state === 'ended') throw expired();
  if (life.state === 'unfit') throw invalid();
  const session = await store.sessions.find(sessionId);
  if (session === null) throw invalid();
  const endsAt = Math.min(life.endsAt, session.expiresAt + CLOCK_TOLERANCE_MS);
  if (session.revoked || now >= endsAt) throw expired();
  const { id, key } = session.project;
  const actor = { kind: 'access_token', id: sessionId } as const;
  const caller = Object.freeze({ actor, projectId: id, project: key, sessionId });
  return { caller, basis: { readAt: now }, endsAt };
}
