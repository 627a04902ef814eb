import { limits } from '@rollcall/protocol';
import { Semaphore } from '../../concurrency/semaphore.ts';
import { ServiceError } from '../../core/service-error.ts';
import type { ProjectKey } from '../../values/project-key.ts';

/** When another request may succeed, in seconds: people close tabs. */
const RETRY_AFTER_SECONDS = 10;

/** The right to one open stream. */
export interface StreamPermit {
  /** Idempotent. */
  release(): void;
}

/**
 * Bounds how many streams of one user are open in this process with client tokens, of all tokens and groups together. A
 * stream costs memory and a descriptor while it is open, and only its reader closes it. Costs one map entry for each user
 * with a stream.
 */
export class StreamPermits {
  readonly #semaphore = new Semaphore({
    permits: Number.POSITIVE_INFINITY,
    permitsPerKey: limits.USER_STREAMS_MAX,
  });

  /** @throws ServiceError `invalid_request` with status 429 when the user has the maximum of streams */
  take({ project, userId }: { readonly project: ProjectKey; readonly userId: string }): StreamPermit {
    const key = JSON.stringify([project, userId]);
    if (!this.#semaphore.tryAcquire(key)) throw tooMany(userId);
    let isOpen = true;
    return {
      release: () => {
        if (isOpen) this.#semaphore.release(key);
        isOpen = false;
      },
    };
  }
}

const tooMany = (userId: string) =>
  new ServiceError(
    'invalid_request',
    `user ${userId} has ${limits.USER_STREAMS_MAX} open streams, which is the most; close one first`,
    { status: 429, headers: { 'Retry-After': `${RETRY_AFTER_SECONDS}` } },
  );
