/** Runs a task over and over while it is requested, one run at a time. */
export class Repeated {
  readonly #task: () => Promise<void>;
  #next: PromiseWithResolvers<void> | null = null;
  #delay: NodeJS.Timeout | null = null;
  #isRunning = false;
  #isClosed = false;

  /** `task` never rejects. It may request the run that follows. */
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

  /** Requests one run for all such calls within this time, in milliseconds. The process does not wait for it. */
  requestAfter(delayMs: number): void {
    this.#delay ??= setTimeout(() => {
      this.#delay = null;
      void this.request();
    }, delayMs).unref();
  }

  /** No run begins any more. Resolves when the one under way has ended. Idempotent. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.request();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#next !== null) {
      const { resolve } = this.#next;
      this.#next = null;
      if (!this.#isClosed) await this.#task();
      resolve();
    }
    this.#isRunning = false;
  }
}
