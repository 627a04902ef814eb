import { ReplyError } from 'ioredis';
import { StoreUnavailableError } from '../values/engine-errors.ts';

/** Errors of a Redis that cannot serve now. All other errors of Redis are defects of Rollcall. */
const PASSING =
  /^(LOADING|CLUSTERDOWN|MASTERDOWN|READONLY|TRYAGAIN|BUSY|MISCONF|OOM|NOREPLICAS|MOVED|ASK|NOAUTH|WRONGPASS|NOPERM|ERR max number of clients)\b/;
/** Messages of the client without a connection, or with one that broke before the answer. */
const NO_CONNECTION =
  /^(Stream isn't writeable|Connection is closed|Cluster isn't ready|Reached the max retries)/;

/** The client reports no error when the server ends the connection. */
const ENDED = new Error('it was closed, and there is no other one yet');

/**
 * Maps an error of the client: {@link StoreUnavailableError}, unless it is a defect.
 * @param reason why there is no connection, where that is known: the client's own error does not say it
 */
export function redisFailure(error: unknown, reason: unknown = ENDED): Error {
  if (error instanceof StoreUnavailableError) return error;
  const { message, code } = error as Error & { code?: string };
  if (error instanceof ReplyError && !PASSING.test(message)) return withoutCommand(error as Error);
  if (NO_CONNECTION.test(message))
    return new StoreUnavailableError('Redis: no connection', { cause: reason });
  // When a name has several addresses, each has an error of its own and there is no message for all.
  return new StoreUnavailableError(`Redis: ${message || code}`, { cause: withoutCommand(error as Error) });
}

/** The error, for the log: without the arguments of the command, which have what a request sent. */
const withoutCommand = (error: Error): Error => Object.assign(error, { command: undefined });

/** The reply. @throws StoreUnavailableError when it takes longer */
export async function withinTime<Reply>(reply: Promise<Reply>, timeoutMs: number): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new StoreUnavailableError(`Redis: no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([reply, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
