import { ReplyError } from 'ioredis';
import { StoreUnavailableError } from '../store/store.ts';

/** What Redis answers while it cannot serve, but will again; as opposed to what it answers to a mistake of ours. */
const PASSING =
  /^(LOADING|CLUSTERDOWN|MASTERDOWN|READONLY|TRYAGAIN|BUSY|MISCONF|OOM|NOREPLICAS|MOVED|ASK|NOAUTH|WRONGPASS|ERR max number of clients)\b/;
/** How the client says that there is no connection on which to ask, or that it broke before there was an answer. */
const NO_CONNECTION =
  /^(Stream isn't writeable|Connection is closed|Cluster isn't ready|Reached the max retries)/;

/** What to reject with for what the client failed with: {@link StoreUnavailableError}, unless it is a defect. */
export function redisFailure(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error;
  const { message } = error as Error;
  if (error instanceof ReplyError && !PASSING.test(message)) return error as Error;
  return new StoreUnavailableError(`Redis: ${NO_CONNECTION.test(message) ? 'no connection' : message}`, {
    cause: error,
  });
}

/** The reply, or a failure when it takes longer. */
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
