import { randomBytes } from 'node:crypto';
import { limits } from '@rollcall/protocol';
import type { Broker } from '../broker/broker.ts';
import type { ProjectRecord, Store } from '../store/store.ts';
import { announce } from './announce.ts';
import type { Caller } from './caller.ts';
import type { Clock } from './clock.ts';
import { tokenFailure } from './token-failure.ts';

/** The part of issuing that knows how tokens are made; auth/token-issuer.ts is it. */
export interface TokenIssuer {
  /** The project an app token is of; `now` in milliseconds. @throws ServiceError invalid_app_token, application_not_found */
  projectOfAppToken(signedAppToken: string, now: number): Promise<ProjectRecord>;
  /** The access token of a session, good for 24 hours from `issuedAt` (seconds). */
  signAccessToken(sessionId: string, issuedAt: number): Promise<string>;
}

export interface IssuedToken {
  readonly accessToken: string;
  /** When it ends, in milliseconds since the epoch. */
  readonly expires: number;
}

export interface TokenService {
  /** Exchanges an app token for an access token. @throws ServiceError invalid_app_token, application_not_found */
  authorize(signedAppToken: string): Promise<IssuedToken>;
  /** Revokes the access token in use, at once. @throws ServiceError invalid_access_token when it is of another kind */
  revoke(caller: Caller): Promise<void>;
  /** Stops forgetting ended sessions. Idempotent. */
  close(): void;
}

const SWEEP_INTERVAL_MS = 60 * 60 * 1_000;
const TOLERANCE_MS = limits.CLOCK_TOLERANCE_SECONDS * 1_000;

interface Parts {
  readonly store: Store;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly issuer: TokenIssuer;
}

/** Access tokens: a session in the store each, so that they can be revoked. */
export function createTokenService({ store, broker, clock, issuer }: Parts): TokenService {
  const stopSweeping = clock.every(SWEEP_INTERVAL_MS, () => {
    // A token may be used until the tolerance after its end. What one sweep fails to remove, the next one does.
    store.removeExpiredSessions(clock.now() - TOLERANCE_MS).catch(() => {});
  });
  return {
    async authorize(signedAppToken) {
      const now = clock.now();
      const project = await issuer.projectOfAppToken(signedAppToken, now);
      const id = randomBytes(18).toString('base64url');
      const issuedAt = Math.floor(now / 1_000);
      const expires = (issuedAt + limits.TOKEN_MAX_AGE_SECONDS) * 1_000;
      await store.createSession({ id, project: project.key, expiresAt: expires });
      return { accessToken: await issuer.signAccessToken(id, issuedAt), expires };
    },
    async revoke({ sessionId }) {
      if (sessionId === null) {
        throw tokenFailure(
          'invalid_access_token',
          'only an access token can be revoked, and the token presented is none',
        );
      }
      await store.revokeSession(sessionId);
      await announce(broker, { type: 'session', sessionId });
    },
    close: stopSweeping,
  };
}
