/**
 * JWTs built by hand, so that the tests of tokens share no code with the server: any algorithm, any claims, any broken
 * part. Times are in seconds since the epoch, as in RFC 7519.
 */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

/** The algorithms that the contract accepts. */
export type HmacAlgorithm = 'HS256' | 'HS384' | 'HS512';

export type Claims = Record<string, unknown>;

/** How a token differs from a plain HS512 token. */
export interface JwtShape {
  readonly alg?: HmacAlgorithm;
  /** Overrides `{alg, typ}`: can name another algorithm than the one that signs. */
  readonly header?: Readonly<Record<string, unknown>>;
}

export const base64url = (part: string | Uint8Array) => Buffer.from(part).toString('base64url');

/** A part of a token: the value as JSON in base64url. */
export const jwtPart = (value: unknown) => base64url(JSON.stringify(value));

/** Signs with the digest of `alg`, whatever algorithm the header names. */
export function jwt(claims: unknown, secret: string | Uint8Array, shape: JwtShape = {}): string {
  const alg = shape.alg ?? 'HS512';
  const signed = `${jwtPart({ alg, typ: 'JWT', ...shape.header })}.${jwtPart(claims)}`;
  return `${signed}.${createHmac(`sha${alg.slice(2)}`, secret)
    .update(signed)
    .digest('base64url')}`;
}

/** Signs texts as they are, for claims that `JSON.stringify` cannot write. */
export function jwtOfText(payload: string | Uint8Array, secret: string, header = '{"alg":"HS512"}'): string {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  return `${signed}.${createHmac('sha512', secret).update(signed).digest('base64url')}`;
}

/** A token with `alg: none` (or the given spelling) and an empty signature. */
export const unsignedJwt = (claims: Claims, alg = 'none') =>
  `${jwtPart({ alg, typ: 'JWT' })}.${jwtPart(claims)}.`;

/** A token signed with an RSA key pair that the server does not know. */
export function rsaJwt(claims: Claims): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signed = `${jwtPart({ alg: 'RS256', typ: 'JWT' })}.${jwtPart(claims)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The token with one of its three parts changed. */
export function withPart(token: string, index: 0 | 1 | 2, change: (part: string) => string): string {
  return token
    .split('.')
    .map((part, at) => (at === index ? change(part) : part))
    .join('.');
}

/** Whole seconds of a time in milliseconds. */
export const seconds = (ms: number) => Math.floor(ms / 1000);
