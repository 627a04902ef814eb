import { type JsonObject, limits } from '@rollcall/protocol';
import { CLOCK_TOLERANCE_MS } from '../core/clock.ts';

const MAX_AGE_MS = limits.TOKEN_MAX_AGE_SECONDS * 1_000;

/**
 * Whether a token is valid now. `namedEnd` is the end by its own claims; `endsAt`, the first millisecond at which it is no longer
 * valid, is later by the tolerance.
 */
type TokenLife =
  | { readonly state: 'current'; readonly namedEnd: number; readonly endsAt: number }
  /** Its `exp` has passed, or it is older than a day. */
  | { readonly state: 'ended' }
  /** The token has no usable time, a time in the future, or a life of more than a day. */
  | { readonly state: 'unfit' };

/**
 * Reads `iat`, `exp` and `nbf` (seconds) against `now` (milliseconds), with the contract's tolerance between the two
 * clocks. `iat` or `exp` is required. Where only `exp` is there, the age cannot be known, so what remains may not be
 * longer than a whole life.
 */
export function tokenLife(claims: JsonObject, now: number): TokenLife {
  const issuedAt = instant(claims.iat);
  const expiresAt = instant(claims.exp);
  const notBefore = instant(claims.nbf);
  if (issuedAt === false || expiresAt === false || notBefore === false) return { state: 'unfit' };
  if (issuedAt === null && expiresAt === null) return { state: 'unfit' };
  const latest = now + CLOCK_TOLERANCE_MS;
  if ((issuedAt ?? now) > latest || (notBefore ?? now) > latest) return { state: 'unfit' };
  if (issuedAt === null && (expiresAt ?? now) > latest + MAX_AGE_MS) return { state: 'unfit' };
  // An age of a day is still allowed, hence the millisecond after it.
  const oldAt = issuedAt === null ? Number.POSITIVE_INFINITY : issuedAt + MAX_AGE_MS + 1;
  const namedEnd = Math.min(oldAt, expiresAt ?? Number.POSITIVE_INFINITY);
  const endsAt = namedEnd + CLOCK_TOLERANCE_MS;
  return now < endsAt ? { state: 'current', namedEnd, endsAt } : { state: 'ended' };
}

/** A time claim in milliseconds; null when absent, false when it is not a time. */
function instant(claim: unknown): number | null | false {
  if (claim === undefined) return null;
  return typeof claim === 'number' && Number.isFinite(claim) ? claim * 1_000 : false;
}
