import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { limits } from '@rollcall/protocol';

const USABLE_ID = new RegExp(`^[\\x21-\\x7e]{1,${limits.REQUEST_ID_MAX_LENGTH}}$`);
const PROCESS_PART = randomBytes(6).toString('base64url');
let count = 0;

/** The ID that the request brings where it is usable, else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && USABLE_ID.test(given) ? given : newRequestId();
}

/** An ID that no other request has. */
export function newRequestId(): string {
  count += 1;
  return `${PROCESS_PART}-${count.toString(36)}`;
}
