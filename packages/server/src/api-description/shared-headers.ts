/** Headers that many operations take or answer, described once. */
import { limits } from '@rollcall/protocol';
import type { Header, Parameter, Reference } from './openapi-document.ts';

export const refer =
  (kind: 'headers' | 'parameters' | 'responses' | 'examples') =>
  (name: string): Reference => ({ $ref: `#/components/${kind}/${name}` });
export const headerRef = refer('headers');
export const parameterRef = refer('parameters');

const header = (description: string, example: string | number): Header => ({
  description,
  schema: typeof example === 'number' ? { type: 'integer', minimum: 0 } : { type: 'string' },
  example,
});

export const HEADERS: Readonly<Record<string, Header>> = {
  RequestId: header('Names the request; the log line of the server has the same.', 'Zr0YeKw3-4f'),
  ETag: header('Names the state that was read; `If-Match` and `If-None-Match` take it.', '"mh4z1q-2"'),
  Link: header(
    'The next page, with `rel="next"`; absent on the last one.',
    '</v1/groups?limit=100&token=…>; rel="next"',
  ),
  RetryAfter: header('After how many seconds to try again.', 1),
  WwwAuthenticate: header(
    '`Bearer` when the token is at fault: another one may help. Absent when the request names something unknown.',
    'Bearer',
  ),
  Upgrade: header('The protocol that this path answers.', 'websocket'),
  RateLimitLimit: header(
    'How many requests the project has per second. Only where the operator has set a limit.',
    500,
  ),
  RateLimitRemaining: header('How many of them are left. Only where the operator has set a limit.', 499),
  RateLimitReset: header(
    'In how many seconds they are counted anew. Only where the operator has set a limit.',
    1,
  ),
};

export type HeaderRefs = Record<string, Reference>;

export const ANY_ANSWER: HeaderRefs = { 'x-request-id': headerRef('RequestId') };

/** The headers of answers to a project whose requests are limited. */
export const LIMITED_ANSWER: HeaderRefs = {
  'RateLimit-Limit': headerRef('RateLimitLimit'),
  'RateLimit-Remaining': headerRef('RateLimitRemaining'),
  'RateLimit-Reset': headerRef('RateLimitReset'),
};

const conditional = (name: string, description: string, example: string): Parameter => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
  example,
});

export const PARAMETERS: Readonly<Record<string, Parameter>> = {
  RequestId: {
    name: 'x-request-id',
    in: 'header',
    description: `Your own name for the request: 1 to ${limits.REQUEST_ID_MAX_LENGTH} visible ASCII characters. Anything else is passed over, and the server makes one.`,
    schema: { type: 'string' },
  },
  IfMatch: conditional(
    'If-Match',
    'Only if this is still its state: an `ETag` that was read before, or `*` for any. Otherwise 412.',
    '"mh4z1q-2"',
  ),
  IfNoneMatch: conditional(
    'If-None-Match',
    'An `ETag` that was read before: 304 when nothing has changed since.',
    '"mh4z1q-1"',
  ),
  OnlyCreate: conditional('If-None-Match', '`*`: create; 409 when it exists.', '*'),
};
