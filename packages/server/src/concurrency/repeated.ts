/** Runs a task over and over while it is requested, one run at a time. */
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
