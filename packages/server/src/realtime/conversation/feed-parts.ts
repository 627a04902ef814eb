import type { Logger } from 'pino';
import type { Clock } from '../../core/clock.ts';
import type { ListName } from '../../core/page-token.ts';
import type { Store } from '../../store/store.ts';
import type { EventSession } from './event-session.ts';

/** What the feeds of a process share. */
export interface FeedParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes the token of a list's next page. */
  readonly pageTokens: { issue(list: ListName, last: string): string };
  /** A stream has ended. */
  readonly ended: (session: EventSession) => void;
}

/** Runs a task over and over while it is asked for, one at a time. */
export class Repeated {
  readonly #task: () => Promise<void>;
  #next: PromiseWithResolvers<void> | null = null;
  #isRunning = false;

  /** `task` never rejects. */
  constructor(task: () => Promise<void>) {
    this.#task = task;
  }

  /** Resolves when the first run that began after this call has ended, whatever is requested meanwhile. */
  request(): Promise<void> {
    this.#next ??= Promise.withResolvers();
    const { promise } = this.#next;
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#next !== null) {
      const { resolve } = this.#next;
      this.#next = null;
      await this.#task();
      resolve();
    }
    this.#isRunning = false;
  }
}
