import { createHmac } from 'node:crypto';

/** The differences from an ordinary token of a test. */
export interface Forgery {
  readonly alg?: unknown;
  readonly header?: object;
  readonly secret?: string | Uint8Array;
  readonly signature?: string;
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * A JWT made by hand, so that verification is not tested with the service's own signing code, and so that
 * a test can make one that no library would. Unknown algorithms are signed as HS512.
 */
export function forgedToken(claims: object, forgery: Forgery = {}): string {
  const { alg = 'HS512', header = { alg, typ: 'JWT' }, secret = '' } = forgery;
  const text = `${part(header)}.${part(claims)}`;
  const hash = (typeof alg === 'string' && /^HS(256|384|512)$/.exec(alg)?.[1]) || '512';
  const signature = forgery.signature ?? createHmac(`sha${hash}`, secret).update(text).digest('base64url');
  return `${text}.${signature}`;
}
