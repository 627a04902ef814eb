import type { ErrorCode } from './protocol.ts';

/**
 * The server's error codes, and three codes of this client: `network` (the server was not reached, or its response was
 * incomplete), `timeout` (no response, or a silent stream) and `aborted` (your signal, or `close()`).
 */
export type RollcallErrorCode = ErrorCode | 'network' | 'timeout' | 'aborted';

/**
 * The retryable codes of the protocol's table, and this client's own; and the statuses that are retryable whatever their code: request
 * timeout, too many requests, and 5xx.
 */
const RETRYABLE = /^(error|network|timeout|408|429|5..)$/;
/** The longest delay: a day. A timer with 2^31 milliseconds or more would fire at once. A longer `Retry-After` counts as this. */
export const DELAY_MAX_MS = 86_400_000;
/** A body, a path or headers that a gateway takes no better the next time. */
const TOO_LARGE = /41[34]|431/;
/** A 401 is about the token when `WWW-Authenticate` names its kind, or with one of these codes; CORS can hide the header. */
const BEARER = /bearer/i;
const TOKEN_CODES = /_token$|_authorization_header$/;

/** The codes that an error has in a body or an event: gateways have other words, such as `Forbidden`. */
const CODE = /^(error|network|\w+_\w+)$/;

/** The fields of an error besides its code and message. */
interface ErrorDetails {
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | undefined;
  readonly aboutToken?: boolean;
  readonly cause?: unknown;
}

/** The error of every failed call. */
export class RollcallError extends Error {
  /** Stable, for programs; `message` is for people. */
  declare readonly code: RollcallErrorCode;
  /** The HTTP status; 0 without a response. */
  declare readonly status: number;
  /** Whether sending the same request again can succeed. */
  declare readonly retryable: boolean;
  /** The request's ID in the server's log; null without a response. */
  declare readonly requestId: string | null;
  /** The response's `Retry-After`, in milliseconds. */
  declare readonly retryAfterMs: number | undefined;
  /** Whether the token was rejected: a new one may be accepted. */
  declare readonly aboutToken: boolean;

  constructor(code: RollcallErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details);
    this.name = 'RollcallError';
    this.code = code;
    this.status = details.status ?? 0;
    this.retryable = RETRYABLE.test(code) || RETRYABLE.test(this.status as never);
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs;
    this.aboutToken = details.aboutToken || TOKEN_CODES.test(code);
  }
}

/**
 * The error of a response, given its body. Without an error of the server it is of a gateway, which knows no server now, as while one
 * starts again; but what is too large stays so.
 */
export const errorOfResponse = ({ status, headers }: Response, body: string): RollcallError =>
  errorIn(
    objectIn(body),
    TOO_LARGE.test(status as never) ? 'invalid_request' : 'error',
    `status ${status} without an error`,
    {
      status,
      requestId: headers.get('x-request-id'),
      retryAfterMs: retryAfterMs(headers),
      aboutToken: status === 401 && BEARER.test(headers.get('www-authenticate') as string),
    },
  );

/** The error that a parsed body describes; where it has none of the server's, the given code and message. */
export function errorIn(
  body: unknown,
  code: RollcallErrorCode,
  message: string,
  details?: ErrorDetails,
): RollcallError {
  const { error, message: reason } = Object(body);
  const isOwn = reason && CODE.test(error);
  return new RollcallError(isOwn ? error : code, isOwn ? reason : message, details);
}

/** The object that a JSON text has; an empty one where it is none. */
export function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/**
 * `Retry-After` in seconds or as a date, which is compared with that of the response: the clock of this machine can be hours wrong. Some
 * gateways send a fraction, which would be a date to the parser.
 */
function retryAfterMs(headers: Headers): number | undefined {
  const header = headers.get('retry-after') as string;
  const seconds = Number.parseFloat(header);
  const now = Date.parse(headers.get('date') as string) || Date.now();
  const ms = seconds >= 0 ? seconds * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), DELAY_MAX_MS) : undefined;
}
