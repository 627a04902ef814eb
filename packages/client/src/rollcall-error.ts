import type { ErrorCode } from './protocol.ts';

/**
 * The server's vocabulary, and three codes of this client: `network` (the server was not reached, or its answer was cut
 * off), `timeout` (nothing was heard for too long) and `aborted` (your signal, or `close()`).
 */
export type RollcallErrorCode = ErrorCode | 'network' | 'timeout' | 'aborted';

/** The codes that the protocol's table says are worth sending again, and this client's own. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set<RollcallErrorCode>(['error', 'network', 'timeout']);
/** Statuses that are worth sending again whatever their code: too slow, too many, and a gateway whose server is away. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
/** A 401 is about the token when it says so, or has one of these codes: browsers hide the header where CORS does. */
const TOKEN_CODES = /_token$|_authorization_header$/;

/** What is known of a failure besides its code and message. */
export interface ErrorDetails {
  readonly status?: number;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | undefined;
  readonly aboutToken?: boolean;
  readonly cause?: unknown;
}

/** Every failure of this client. */
export class RollcallError extends Error {
  /** What to program against; `message` is for people. */
  readonly code: RollcallErrorCode;
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
  /** Whether sending the same request again can succeed. */
  readonly retryable: boolean;
  /** The server's log has the request under this; null where no answer came. */
  readonly requestId: string | null;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The token was refused, and another one may not be. */
  readonly aboutToken: boolean;

  constructor(code: RollcallErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, 'cause' in details ? { cause: details.cause } : undefined);
    this.name = 'RollcallError';
    this.code = code;
    this.status = details.status ?? 0;
    this.retryable = RETRYABLE_CODES.has(code) || RETRYABLE_STATUSES.has(this.status);
    this.requestId = details.requestId ?? null;
    this.retryAfterMs = details.retryAfterMs;
    this.aboutToken = details.aboutToken ?? TOKEN_CODES.test(code);
  }
}

/** The error that an answer is, given its body. A gateway's answer has no code of the vocabulary and is given one. */
export function errorOfAnswer({ status, headers }: Response, body: string): RollcallError {
  const { error, message } = refusalIn(body);
  const code = error ?? (status >= 500 ? 'error' : 'invalid_request');
  return new RollcallError(
    code as RollcallErrorCode,
    message ?? `the answer was ${status} without an explanation`,
    {
      status,
      requestId: headers.get('x-request-id'),
      retryAfterMs: retryAfterMs(headers.get('retry-after')),
      aboutToken: status === 401 && (headers.has('www-authenticate') || TOKEN_CODES.test(code)),
    },
  );
}

/** `{error, message}` of a body, as far as it has them. */
export function refusalIn(body: string): { error?: string; message?: string } {
  try {
    const { error, message } = JSON.parse(body);
    return {
      ...(typeof error === 'string' && { error }),
      ...(typeof message === 'string' && { message }),
    };
  } catch {
    return {};
  }
}

/** `Retry-After` in seconds or as a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
