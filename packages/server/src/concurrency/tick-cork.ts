import type { Writable } from 'node:stream';

/** Collects what is written to a stream in one event-loop tick into one system call, which costs more than a command. */
export class TickCork {
  #corked: Writable | null = null;

  /** To be called before each write. */
  cork(stream: Writable): void {
    if (this.#corked !== null) return;
    stream.cork();
    this.#corked = stream;
    setImmediate(() => this.flush());
  }

  /** Sends what was written so far at once. */
  flush(): void {
    const stream = this.#corked;
    this.#corked = null;
    stream?.uncork();
  }
}
