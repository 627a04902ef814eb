/**
 * JWTs made by hand, so that the tests of tokens share no line with the code they test: any algorithm, any claims,
 * any broken part. Times are in seconds since the epoch, as RFC 7519 has them.
 */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

/** The algorithms that the contract takes. */
export type HmacAlgorithm = 'HS256' | 'HS384' | 'HS512';

export type Claims = Record<string, unknown>;

/** What of a token differs from a plain HS512 one. */
export interface JwtShape {
  readonly alg?: HmacAlgorithm;
  /** Laid over `{alg, typ}`: may claim another algorithm than the one that signed. */
  readonly header?: Readonly<Record<string, unknown>>;
}

export const base64url = (part: string | Uint8Array) => Buffer.from(part).toString('base64url');

/** A part of a token: the value as JSON in base64url. */
export const jwtPart = (value: unknown) => base64url(JSON.stringify(value));

/** Signs with the digest of `alg`, whatever the header says. */
export function jwt(claims: unknown, secret: string | Uint8Array, shape: JwtShape = {}): string {
  const alg = shape.alg ?? 'HS512';
  const signed = `${jwtPart({ alg, typ: 'JWT', ...shape.header })}.${jwtPart(claims)}`;
  return `${signed}.${createHmac(`sha${alg.slice(2)}`, secret)
    .update(signed)
    .digest('base64url')}`;
}

/** Signs parts that are given as they are: for claims that `JSON.stringify` would not write. */
export function jwtOfText(payload: string | Uint8Array, secret: string, header = '{"alg":"HS512"}'): string {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  return `${signed}.${createHmac('sha512', secret).update(signed).digest('base64url')}`;
}

/** Says `alg: none` (or the spelling given) and has an empty signature. */
export const unsignedJwt = (claims: Claims, alg = 'none') =>
  `${jwtPart({ alg, typ: 'JWT' })}.${jwtPart(claims)}.`;

/** Properly signed, but with a key pair that only its sender knows. */
export function rsaJwt(claims: Claims): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signed = `${jwtPart({ alg: 'RS256', typ: 'JWT' })}.${jwtPart(claims)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The token with one of its three parts replaced by what `change` makes of it. */
export function withPart(token: string, index: 0 | 1 | 2, change: (part: string) => string): string {
  return token
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.');
}

/** Whole seconds of a time in milliseconds. */
export const seconds = (ms: number) => Math.floor(ms / 1000);
