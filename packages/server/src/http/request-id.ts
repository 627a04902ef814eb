import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { limits } from '@rollcall/protocol';

/** The pattern of an ID that a request may bring: visible ASCII characters. */
export const REQUEST_ID_PATTERN = `^[!-~]{1,${limits.REQUEST_ID_MAX_LENGTH}}$`;
const USABLE_ID = new RegExp(REQUEST_ID_PATTERN);
const PROCESS_PART = randomBytes(6).toString('base64url');
let count = 0;

/** Where a request has the ID that was made for it. */
const MADE = Symbol('request ID');

interface IdentifiedRequest extends Pick<IncomingMessage, 'headers'> {
  [MADE]?: string;
}

/** The ID that the request brings where it is usable, else one that is made for it. The same each time. */
export function requestId(request: IdentifiedRequest): string {
  const given = request.headers['x-request-id'];
  if (typeof given === 'string' && USABLE_ID.test(given)) return given;
  request[MADE] ??= newRequestId();
  return request[MADE];
}

export function newRequestId(): string {
  count += 1;
  return `${PROCESS_PART}-${count.toString(36)}`;
}
