import { compactVerify, errors } from 'jose';
import type { Jwt } from './jwt.ts';

/** HMAC only: with a shared secret nothing else can be right, `none` least of all. */
const ALGORITHMS = ['HS512', 'HS256', 'HS384'] as const;

/** The HMAC key of a secret: its UTF-8 bytes. */
export const secretKey = (secret: string): Uint8Array => Buffer.from(secret);

/** Whether the token is signed with this key; compares in constant time. */
export async function isSignedWith(token: Jwt, key: Uint8Array): Promise<boolean> {
  // An empty key signs nothing, and an extension marked critical is one that we do not know (RFC 7515, 4.1.11).
  if (key.length === 0 || Object.hasOwn(token.header, 'crit') || !hasCanonicalSignature(token)) return false;
  try {
    await compactVerify(token.compact, key, { algorithms: [...ALGORITHMS] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

/**
 * Whether the bits of the last character that belong to no byte are zero, as encoders write them (RFC 4648, 3.5). Without
 * this check, a signature has up to 16 spellings, and a changed token can be accepted.
 */
function hasCanonicalSignature({ compact }: Jwt): boolean {
  const signature = compact.slice(compact.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}
