import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Jwt } from './jwt.ts';

/**
 * By `alg`, the hash. HMAC only: with a shared secret nothing else can be right, `none` least of all. A Map has no names that
 * an object inherits.
 */
const HASHES: ReadonlyMap<unknown, string> = new Map([
  ['HS512', 'sha512'],
  ['HS256', 'sha256'],
  ['HS384', 'sha384'],
]);

/** The HMAC key of a secret: its UTF-8 bytes. */
export const secretKey = (secret: string): Uint8Array => Buffer.from(secret);

/**
 * Whether the token is signed with this key (RFC 7515, 5.2); compares in constant time. In this thread, because WebCrypto hands each
 * HMAC to another one, which costs more than the HMAC.
 */
export function isSignedWith({ compact, header }: Jwt, key: Uint8Array): boolean {
  const hash = HASHES.get(header.alg);
  // An empty key signs nothing, and an extension marked critical is one that we do not know (RFC 7515, 4.1.11).
  if (hash === undefined || key.length === 0 || Object.hasOwn(header, 'crit')) return false;
  const end = compact.lastIndexOf('.');
  const text = compact.slice(end + 1);
  const signature = Buffer.from(text, 'base64url');
  const expected = createHmac(hash, key).update(compact.slice(0, end)).digest();
  return (
    isCanonical(signature, text) &&
    signature.length === expected.length &&
    timingSafeEqual(signature, expected)
  );
}

/**
 * Whether the bits of the last character that belong to no byte are zero, as encoders write them (RFC 4648, 3.5). Without
 * this check, a signature has up to 16 spellings, and a changed token can be accepted.
 */
const isCanonical = (signature: Buffer, text: string) => signature.toString('base64url') === text;
