import { randomBytes } from 'node:crypto';
import type { Revision } from '../store/precondition.ts';

const boot = randomBytes(9).toString('base64url');
let count = 0;

/** A revision that no other write has, on this process or any other. */
export function newRevision(): Revision {
  count += 1;
  return `${boot}${count.toString(36)}`;
}
