import { ERRORS, type ErrorCode } from '@rollcall/protocol';

/** What differs from the code's row in the error table, where the situation has a status or headers of its own. */
export interface ErrorSituation {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only; never sent. */
  readonly cause?: unknown;
}

/** A refusal of the vocabulary. Its message is written for the caller: no stack, no SQL, no secret. */
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
