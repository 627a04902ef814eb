import { randomBytes } from 'node:crypto';
import { limits } from '@rollcall/protocol';
import type { Broker } from '../../broker/broker.ts';
import type { ProjectRecord } from '../../store/ports/projects.ts';
import type { Store } from '../../store/store.ts';
import type { Origin } from '../../store/write-context.ts';
import type { Caller, WriterOf } from '../caller.ts';
import type { StoreWrites } from '../changes/store-writes.ts';
import { CLOCK_TOLERANCE_MS, type Clock } from '../clock.ts';
import { removeExpiredRows } from '../expired-rows.ts';
import { publish } from '../publish.ts';
import { tokenFailure } from './token-failure.ts';

/** The part of issuing that knows how tokens are made; auth/token-issuer.ts is it. */
export interface TokenIssuer {
  /** The project an app token is of; `now` in milliseconds. @throws ServiceError invalid_app_token, application_not_found */
  projectOfAppToken(signedAppToken: string, now: number): Promise<ProjectRecord>;
  /** The access token of a session, good for 24 hours from `issuedAt` (seconds). */
  signAccessToken(sessionId: string, issuedAt: number): Promise<string>;
}

interface IssuedToken {
  readonly accessToken: string;
  /** When it ends, in milliseconds since the epoch. */
  readonly expires: number;
}

interface Parts {
  readonly store: Pick<Store, 'sessions'>;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly issuer: TokenIssuer;
  readonly writes: StoreWrites;
}

/** Access tokens: a session in the store each, so that they can be revoked. */
export class TokenService {
  readonly #parts: Parts;
  /** Ends the removal of ended sessions. Idempotent. */
  readonly close: () => void;

  constructor(parts: Parts) {
    const { store, clock } = parts;
    this.#parts = parts;
    // A token may be used until the tolerance after its end.
    this.close = removeExpiredRows(clock, () =>
      store.sessions.removeExpired(clock.now() - CLOCK_TOLERANCE_MS),
    );
  }

  /** Exchanges an app token for an access token. @throws ServiceError invalid_app_token, application_not_found */
  async authorize(signedAppToken: string, requestId: Origin['requestId']): Promise<IssuedToken> {
    const { store, clock, issuer, writes } = this.#parts;
    const now = clock.now();
    const project = await issuer.projectOfAppToken(signedAppToken, now);
    const id = randomBytes(18).toString('base64url');
    const issuedAt = Math.floor(now / 1_000);
    const expires = (issuedAt + limits.TOKEN_MAX_AGE_SECONDS) * 1_000;
    const actor = { kind: 'app_token', id: project.id } as const;
    await writes.run(
      { actor, requestId, project: project.key },
      (context) => store.sessions.create(project.key, { id, expiresAt: expires }, context),
      {
        absent: () =>
          tokenFailure('application_not_found', `the app ID ${project.id} of the token does not exist`),
      },
    );
    return { accessToken: await issuer.signAccessToken(id, issuedAt), expires };
  }

  /** Revokes the access token in use, at once. @throws ServiceError invalid_access_token for a token of another kind */
  async revoke(writer: WriterOf<Caller>): Promise<void> {
    const { project, sessionId } = writer;
    if (sessionId === null)
      throw tokenFailure(
        'invalid_access_token',
        'only an access token can be revoked, and the token presented is none',
      );
    const { store, broker, writes } = this.#parts;
    await writes.run(writer, (context) => store.sessions.revoke(project, sessionId, context), {});
    await publish(broker, { type: 'session', sessionId });
  }
}
