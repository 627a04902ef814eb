import type { RollcallError } from './rollcall-error.ts';

/**
 * `connecting`: not connected yet, also while nothing is watched. `open`: what is watched is up to date. `reconnecting`: the
 * connection was lost, and the client connects again. `closed`: after `close()`, or because the server does not let the
 * user in.
 */
export type ConnectionState = 'connecting' | 'open' | 'reconnecting' | 'closed';

/** Whether a client is connected, and why not. */
export interface ConnectionStatus {
  readonly state: ConnectionState;
  /** Why the connection was lost or closed; null while it is open, and after `close()`. */
  readonly reason: RollcallError | null;
}

/** A value that changes, in the shape of React's `useSyncExternalStore`. */
export interface Observable<Value> {
  /** The same object until the value changes. */
  get(): Value;
  /** Calls `listener` after each change. Returns the function that unsubscribes. */
  subscribe(listener: () => void): () => void;
}

/** The states in the order in which one of several connections determines the whole. */
const WORST_FIRST: readonly ConnectionState[] = ['closed', 'reconnecting', 'connecting', 'open'];
const CONNECTING: ConnectionStatus = { state: 'connecting', reason: null };
const CLOSED: ConnectionStatus = { state: 'closed', reason: null };

/** The status of a client: that of its worst connection. Memory: one entry for each open connection. */
export class StatusOfConnections implements Observable<ConnectionStatus> {
  readonly #connections = new Map<object, ConnectionStatus>();
  readonly #listeners = new Set<() => void>();
  #current = CONNECTING;

  get = (): ConnectionStatus => this.#current;

  subscribe = (listener: () => void): (() => void) => {
    // A function of its own for each subscription: one listener can subscribe twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  };

  /**
   * A connection has this state now; null: it has ended. Has no effect after {@link close}. That the user is not let in
   * (`closed`) is shown until a connection has another state.
   */
  report(connection: object, state: ConnectionState | null, reason: RollcallError | null = null): void {
    if (this.#current === CLOSED) return;
    const all = this.#connections;
    all.delete(connection);
    if (state !== null) {
      all.delete(this);
      all.set(state === 'closed' ? this : connection, { state, reason });
    }
    const firstOf = (wanted: ConnectionState) => [...all.values()].find(({ state }) => state === wanted);
    this.#publish(WORST_FIRST.map(firstOf).find(Boolean) ?? CONNECTING);
  }

  /** The client is closed, for good. */
  close(): void {
    this.#publish(CLOSED);
  }

  #publish(status: ConnectionStatus): void {
    if (status.state === this.#current.state && status.reason === this.#current.reason) return;
    this.#current = status;
    for (const listener of [...this.#listeners]) {
      try {
        // Another listener may have unsubscribed it.
        if (this.#listeners.has(listener)) listener();
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
