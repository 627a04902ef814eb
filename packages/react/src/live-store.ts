import type { Observable, RollcallError } from '@rollcall/client';

/**
 * What a store does while it has subscribers. It ends when the signal aborts. It returns true when it has read everything, and is not
 * to read it again. It throws a RollcallError that it has shown: after one that is retryable it is run again.
 */
export type Source<State> = (
  set: (change: (state: State) => State) => void,
  signal: AbortSignal,
) => Promise<true | undefined>;

/** A store goes on for so long without a subscriber: StrictMode, fast refresh and a change of route subscribe anew. */
const LINGER_MS = 1_000;
/** A store without a subscriber for so long is of something that is not shown any more, or of a rendering that React gave up. */
const UNUSED_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const RETRY_DELAY_MAX_MS = 30_000;

/** How long to wait before the next attempt, in milliseconds: longer after each failure in a row, with jitter. */
export function retryDelayMs(failures: number, { retryAfterMs = 0 }: RollcallError): number {
  const wholeMs = Math.min(RETRY_DELAY_MAX_MS, FIRST_RETRY_MS * 2 ** failures);
  return Math.max(retryAfterMs, wholeMs * (0.5 + Math.random() / 2));
}

/**
 * State that is live while it has subscribers: the first starts its source, and the source ends a second after the last has
 * left. A source that has ended is started again by {@link resume}, by the end of its delay, or by the next subscriber where it has
 * none; until then the store has its last state.
 */
export class LiveStore<State> implements Observable<State> {
  /** The state before the source has set one: also that of the server's rendering. */
  readonly initial: State;
  readonly #source: Source<State>;
  readonly #isNeeded: (state: State) => boolean;
  readonly #listeners = new Set<() => void>();
  #state: State;
  /** The state that has been published. */
  #shown: State;
  #publishing: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | null = null;
  #actions: unknown;
  #linger: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** In a row. */
  #failures = 0;
  /** When the last subscriber left, or when it was made. */
  #idleSince = Date.now();

  /** @param isNeeded whether the state must not be lost, although nothing shows it */
  constructor(initial: State, source: Source<State>, isNeeded: (state: State) => boolean) {
    this.initial = initial;
    this.#isNeeded = isNeeded;
    this.#state = initial;
    this.#shown = initial;
    this.#source = source;
  }

  get = (): State => this.#shown;

  /** Whether its state may have changed long ago. */
  get isForgotten(): boolean {
    const isUsed = this.#listeners.size > 0 || this.#running !== null || this.#isNeeded(this.#state);
    return !isUsed && Math.abs(Date.now() - this.#idleSince) > UNUSED_MS;
  }

  subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    // React has shown a component again without rendering it.
    if (this.isForgotten) this.reset();
    this.#listeners.add(own);
    clearTimeout(this.#linger);
    // Many components that are mounted while the server is away send no more requests than one.
    if (this.#retry === undefined) this.resume();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#idleSince = Date.now();
      this.#linger = setTimeout(() => this.#stop(), LINGER_MS);
    };
  };

  #publish = (): void => {
    this.#publishing = undefined;
    this.#shown = this.#state;
    for (const listener of this.#listeners) listener();
  };

  /** Changes the state, and publishes it at once. */
  set = (change: (state: State) => State): void => {
    this.#state = change(this.#state);
    this.#publish();
  };

  /** What all components do with the store, such as loading pages: made once, and it goes on when one of them is gone. */
  actions<Actions>(make: () => Actions): Actions {
    this.#actions ??= make();
    return this.#actions as Actions;
  }

  /** Ends the source, and forgets what it has read. */
  reset(): void {
    this.#stop();
    this.set(() => this.initial);
  }

  /** Runs the source again, for example after its error was mended. */
  restart(): void {
    this.#stop();
    this.resume();
  }

  /** Runs the source if it does not run and the store has subscribers. */
  resume(): void {
    this.#cancelRetry();
    if (this.#running !== null || this.#listeners.size === 0) return;
    const running = new AbortController();
    this.#running = running;
    const set: typeof this.set = (change) => {
      if (running.signal.aborted) return;
      this.#state = change(this.#state);
      // Events can come faster than they are rendered: those that have come meanwhile are rendered together.
      this.#publishing ??= setTimeout(this.#publish);
    };
    void this.#source(set, running.signal).then(
      (isDone) => {
        if (this.#running === running && !isDone) this.#running = null;
      },
      (error) => this.#failed(running, error),
    );
  }

  #failed(running: AbortController, error: RollcallError): void {
    if (this.#running !== running) return;
    this.#running = null;
    if (!error.retryable) return;
    this.#retry = setTimeout(() => this.resume(), retryDelayMs(this.#failures, error));
    this.#failures += 1;
  }

  #cancelRetry(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  #stop(): void {
    this.#cancelRetry();
    this.#failures = 0;
    this.#running?.abort();
    this.#running = null;
  }
}
