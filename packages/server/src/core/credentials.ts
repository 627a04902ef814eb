import { randomBytes } from 'node:crypto';

/** A secret that signs tokens: a customer's or a project's. Shown to the operator once, never logged. */
export interface Credentials {
  readonly id: string;
  readonly secret: string;
}

/** A new secret, as strong as the longest HMAC in use: 48 bytes, base64url. */
export const newSecret = (): string => randomBytes(48).toString('base64url');

/** How many random bytes an ID has. */
export const ID_BYTES = 12;

/** A new ID that no other has: the kind and 96 bits, base64url. */
export const newId = (kind: 'cus' | 'prj'): string =>
  `${kind}_${randomBytes(ID_BYTES).toString('base64url')}`;
