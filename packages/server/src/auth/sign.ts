import { limits } from '@rollcall/protocol';
import type { JWTPayload } from 'jose';
import { SignJWT } from 'jose/jwt/sign';
import { SESSION_CLAIM } from './access-token.ts';
import { CUSTOMER_CLAIM } from './customer-token.ts';
import { APP_TOKEN, PROJECT_TOKEN } from './project-token.ts';
import { secretKey } from './signature.ts';

/** Signs a token that names one ID. `now` is in milliseconds; the life is a day at most and by default. */
type Mint = (id: string, secret: string, now: number, lifeSeconds?: number) => Promise<string>;

/** A token that opens a project's data endpoints. */
export const mintProjectToken: Mint = minting(PROJECT_TOKEN.claim);

/** The same under a project's older name; it can be exchanged for an access token. */
export const mintAppToken: Mint = minting(APP_TOKEN.claim);

/** A token with which a browser acts as this user: in one group, or without one in all of the user's. */
export const mintClientToken = (userId: string, groupId?: string): Mint =>
  minting(PROJECT_TOKEN.claim, {
    user_id: userId,
    ...(groupId !== undefined && { group_id: groupId }),
  });

/** A token that opens `/v1/projects` for a customer. */
export const mintCustomerToken: Mint = minting(CUSTOMER_CLAIM);

/** The access token of a session, for 24 hours from `issuedAt` (seconds since the epoch). */
export const mintAccessToken = (
  sessionId: string,
  serviceKey: Uint8Array,
  issuedAt: number,
): Promise<string> => sign({ [SESSION_CLAIM]: sessionId, ...lifeFrom(issuedAt) }, serviceKey);

function minting(claim: string, more: JWTPayload = {}): Mint {
  return (id, secret, now, lifeSeconds) =>
    sign({ [claim]: id, ...more, ...lifeFrom(Math.floor(now / 1_000), lifeSeconds) }, secretKey(secret));
}

function lifeFrom(issuedAt: number, lifeSeconds: number = limits.TOKEN_MAX_AGE_SECONDS): JWTPayload {
  return { iat: issuedAt, exp: issuedAt + lifeSeconds };
}

const sign = (claims: JWTPayload, key: Uint8Array): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'HS512', typ: 'JWT' }).sign(key);
