import type { ErrorCode } from '@rollcall/protocol';
import { tokenFailure } from '../core/clients/token-failure.ts';
import type { Jwt } from './jwt.ts';

/** What a token was verified with, besides the token itself. */
export interface Basis {
  /** When the latest read of it began, in milliseconds since the epoch. */
  readonly readAt: number;
}

export interface Verified<C> {
  readonly caller: C;
  readonly basis: Basis;
  /** The first millisecond at which the token is no longer valid, whatever the store has. */
  readonly endsAt: number;
}

/** A verified token of a project, or of one of its users. */
export interface VerifiedOfProject<C> extends Verified<C> {
  /** The end by the token's own claims. Up to `endsAt` the token is accepted because clocks differ. */
  readonly namedEnd: number;
}

/**
 * Verifies tokens of one kind: null means "of another kind", a rejection with a ServiceError "of this kind, and invalid". `now` is in
 * milliseconds since the epoch.
 */
export type Resolver<V> = (token: Jwt, now: number) => Promise<V> | null;

/** A token that names a user is a client token, whatever other claims it has. */
export const isClientToken = (token: Jwt): boolean => Object.hasOwn(token.claims, 'user_id');

/** The error of a token whose kind opens other endpoints, or none. */
export const otherKind = (code: ErrorCode) =>
  tokenFailure(code, 'the token is not of a kind that opens this endpoint');
