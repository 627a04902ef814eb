import { limits } from '@rollcall/protocol';
import type { Caller } from '../core/caller.ts';
import { tokenFailure } from '../core/token-failure.ts';
import type { Store } from '../store/store.ts';
import type { Jwt } from './jwt.ts';
import type { Resolver, Verified } from './resolver.ts';
import { serviceKeyOf } from './service-key.ts';
import { isSignedWith } from './signature.ts';
import { tokenLife } from './token-life.ts';

/** The claim that makes a token one of ours: the ID of the session that it stands for. */
export const SESSION_CLAIM = 'session_id';

const TOLERANCE_MS = limits.CLOCK_TOLERANCE_SECONDS * 1_000;

const invalid = () =>
  tokenFailure('invalid_access_token', 'the access token is not one that this service issued');
const expired = () =>
  tokenFailure('expired_access_token', 'the access token is expired or revoked; request another one');

export function accessTokenResolver(store: Store): Resolver<Caller> {
  const serviceKey = serviceKeyOf(store);
  return (token, now) =>
    Object.hasOwn(token.claims, SESSION_CLAIM) ? callerOf(store, serviceKey, token, now) : null;
}

/** The signature comes first: nothing is said about the life of a token that is not ours. */
async function callerOf(
  store: Store,
  serviceKey: () => Promise<Uint8Array>,
  token: Jwt,
  now: number,
): Promise<Verified<Caller>> {
  const sessionId = token.claims[SESSION_CLAIM];
  if (typeof sessionId !== 'string' || !(await isSignedWith(token, await serviceKey()))) throw invalid();
  const life = tokenLife(token.claims, now);
  // Before the session is looked up, because those that ended are forgotten after a while.
  if (life.state === 'ended') throw expired();
  if (life.state === 'unfit') throw invalid();
  const session = await store.findSession(sessionId);
  if (session === null) throw invalid();
  const endsAt = Math.min(life.endsAt, session.expiresAt + TOLERANCE_MS);
  if (session.revoked || now >= endsAt) throw expired();
  const { id, key } = session.project;
  return { caller: Object.freeze({ projectId: id, project: key, sessionId }), endsAt };
}
