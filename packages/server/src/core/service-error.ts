import { ERRORS, type ErrorCode } from '@rollcall/protocol';

/** The differences from the code's row in the error table, where the situation has a status or headers of its own. */
interface ErrorSituation {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only; never sent. */
  readonly cause?: unknown;
}

/** An error of the vocabulary. Its message is written for the caller: no stack, no SQL, no secret. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, situation: ErrorSituation = {}) {
    super(message, { cause: situation.cause });
    this.name = 'ServiceError';
    this.code = code;
    this.status = situation.status ?? ERRORS[code].status;
    this.headers = situation.headers ?? {};
  }
}

/** An error about a group. Its message is made from parts: `<before>group<after>`. */
export class GroupError extends ServiceError {
  readonly before: string;
  readonly after: string;

  constructor(code: ErrorCode, before: string, after: string, situation: ErrorSituation = {}) {
    super(code, `${before}group${after}`, situation);
    this.before = before;
    this.after = after;
  }
}

/** How long a caller should wait for a part of the server that is away or overloaded, in seconds. */
const RETRY_AFTER_SECONDS = 1;

/** 503: the same request can succeed a moment later. */
export const retryLater = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('error', message, {
    status: 503,
    headers: { 'Retry-After': `${RETRY_AFTER_SECONDS}` },
    cause,
  });

/** The server is stopping: the request can succeed at another process, or at this one after its restart. */
export const stopping = (): ServiceError =>
  retryLater('the server is stopping; nothing was applied, try again at another process');
