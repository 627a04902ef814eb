import { randomBytes } from 'node:crypto';
import { limits } from '@rollcall/protocol';
import type { NewProject, NewSecret } from '../../store/ports/projects.ts';

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

/** The record of a new project, whatever creates it. Its ID and secret are new unless they are given. */
export const newProject = (
  { customerId, name }: Pick<NewProject, 'customerId' | 'name'>,
  now: number,
  { id = newId('prj'), secret = newSecret() }: Partial<Credentials> = {},
): NewProject => ({ id, customerId, name, secret, createdAt: now });

/** A new secret for a project. The old one is valid for `overlapSeconds`; 0 ends it at once. */
export const nextSecret = (
  now: number,
  overlapSeconds = limits.ROTATION_DEFAULT_OVERLAP_SECONDS,
): NewSecret => ({ secret: newSecret(), previousValidUntil: now + overlapSeconds * 1_000 });
