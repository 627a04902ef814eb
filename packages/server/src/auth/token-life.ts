import { type JsonObject, limits } from '@rollcall/protocol';
import { CLOCK_TOLERANCE_MS } from '../core/clock.ts';

const MAX_AGE_MS = limits.TOKEN_MAX_AGE_SECONDS * 1_000;

/** Whether a token is valid now. `endsAt` is the first millisecond at which it no longer is. */
type TokenLife =
  | { readonly state: 'current'; readonly endsAt: number }
  /** Its `exp` has passed, or it is older than a day. */
  | { readonly state: 'ended' }
  /** It has no usable time, a time that lies ahead, or more than a day to go. */
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
  // A day and the tolerance are still allowed, hence the millisecond after them.
  const oldAt = issuedAt === null ? Number.POSITIVE_INFINITY : issuedAt + MAX_AGE_MS + CLOCK_TOLERANCE_MS + 1;
  const endsAt = Math.min(oldAt, (expiresAt ?? Number.POSITIVE_INFINITY) + CLOCK_TOLERANCE_MS);
  return now < endsAt ? { state: 'current', endsAt } : { state: 'ended' };
}

/** A time claim in milliseconds; null when absent, false when it is not a time. */
function instant(claim: unknown): number | null | false {
  if (claim === undefined) return null;
  return typeof claim === 'number' && Number.isFinite(claim) ? claim * 1_000 : false;
}
