/** Responses that many operations share, described once. */
import { ERRORS, type ErrorCode, limits } from '@rollcall/protocol';
import { unavailable as storeUnavailable } from '../http/error-answer.ts';
import type { Example } from '../http/operation.ts';
import type { Reasons } from './errors.ts';
import type { MediaType, Response, Schema } from './openapi-document.ts';
import { ANY_ANSWER, type HeaderRefs, headerRef, LIMITED_ANSWER, refer } from './shared-headers.ts';

export const responseRef = refer('responses');
const exampleRef = refer('examples');

export const EXAMPLES: Readonly<Record<string, Example>> = Object.fromEntries(
  (Object.keys(ERRORS) as ErrorCode[]).map((code) => [
    code,
    { summary: ERRORS[code].meaning, value: { error: code, message: ERRORS[code].example } },
  ]),
);

function errorContent(
  codes: readonly ErrorCode[],
  examples: MediaType['examples'],
): NonNullable<Response['content']> {
  const narrowed: Schema = { properties: { error: { enum: codes } } };
  const schema = { allOf: [{ $ref: '#/components/schemas/Error' }, narrowed] };
  return { 'application/json': { schema, ...(examples && { examples }) } };
}

/** The answer of one status whose code depends on the reason. */
export function errorResponse(reasons: Reasons, headers: HeaderRefs = {}): Response {
  const entries = Object.entries(reasons) as [ErrorCode, string][];
  const codes = entries.map(([code]) => code);
  const examples = Object.fromEntries(codes.map((code) => [code, exampleRef(code)]));
  return {
    description: entries.map(([code, reason]) => `- \`${code}\`: ${reason}`).join('\n'),
    headers: { ...ANY_ANSWER, ...headers },
    content: errorContent(codes, examples),
  };
}

/** The answer of a status that has `invalid_request` or `error`, with a text of its own. */
function situation(
  code: 'invalid_request' | 'error',
  when: string,
  message: string,
  headers: HeaderRefs = {},
) {
  return {
    description: `- \`${code}\`: ${when}`,
    headers: { ...ANY_ANSWER, ...headers },
    content: errorContent([code], { [code]: { value: { error: code, message } } }),
  };
}

const RETRY = { 'Retry-After': headerRef('RetryAfter') };

/** The answer of an engine that is away. */
export const unavailable = (when: string): Response =>
  situation('error', when, storeUnavailable().message, RETRY);

/** The answer to a body above the bound of its operation, infinite where only the operator bounds it. */
export const bodyTooLarge = (maxBytes: number): Response =>
  situation(
    'invalid_request',
    Number.isFinite(maxBytes)
      ? `The body is larger than ${amountOf(maxBytes)}, or than the operator allows.`
      : `The body is larger than the operator allows (${amountOf(limits.BODY_DEFAULT_LIMIT_BYTES)} by default).`,
    'the request body is larger than this server takes',
  );

const amountOf = (bytes: number) => (bytes < 1_048_576 ? `${bytes / 1_024} KiB` : `${bytes / 1_048_576} MiB`);

export const RESPONSES: Readonly<Record<string, Response>> = {
  NotModified: {
    description: 'Nothing has changed since `If-None-Match`.',
    headers: { ...ANY_ANSWER, ETag: headerRef('ETag') },
  },
  PreconditionFailed: situation(
    'invalid_request',
    '`If-Match` does not match: another write was faster, or nothing is there.',
    'If-Match or If-None-Match does not hold for group analysts: read it again',
  ),
  TooManyRequests: situation(
    'invalid_request',
    'The project has sent more requests in a second than the operator allows, the user has too many open streams, or too many tests are under way.',
    'more than 500 requests in a second; try again in 1 second',
    { ...RETRY, ...LIMITED_ANSWER },
  ),
  Failed: errorResponse({ error: ERRORS.error.meaning }),
  Unavailable: unavailable('The store cannot be reached. Nothing is half applied: try again.'),
};
