import { Findings, Id, inspector } from '@rollcall/protocol';
import type { Jwt } from './jwt.ts';

/** Who a verified token speaks for. */
export interface Verified<C> {
  readonly caller: C;
  /** The first millisecond at which this is no longer so, whatever the store says. */
  readonly endsAt: number;
}

/**
 * Verifies tokens of one kind: null says "not mine", a rejection with a ServiceError "mine, and bad". `now` is in
 * milliseconds since the epoch.
 */
export type Resolver<C> = (token: Jwt, now: number) => Promise<Verified<C>> | null;

const inspectId = inspector(Id);

/** Whether a claim can be an ID at all: one that cannot is refused as the token's kind, and never reaches the store. */
export function isId(claim: unknown): claim is string {
  const findings = new Findings();
  inspectId(claim, findings);
  return findings.clean;
}

/** A token that names a user is a client token, whatever else it says. */
export const isClientToken = (token: Jwt): boolean => Object.hasOwn(token.claims, 'user_id');
