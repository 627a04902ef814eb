import { DatabaseError } from 'pg';
import { type Call, CONNECT_LIMIT_MS, type Row } from './postgres-connection.ts';
import { PostgresPool, SENT_BEFORE_MS } from './postgres-pool.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How often the server is asked, and how long it may take to answer, in milliseconds: longer where it is connected to first. */
const EVERY_MS = 500;
const WITHIN_MS = 2_500;
const CONNECTED_WITHIN_MS = CONNECT_LIMIT_MS + SENT_BEFORE_MS;

/**
 * While large writes wait without a limit: asks the server again and again whether it still answers at all. On a
 * connection of its own, since on a shared one a question stands behind the work of others.
 */
export class Pulse {
  readonly #pool: PostgresPool;
  readonly #onSilence: (cause: Error) => void;
  #waiting = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(settings: PostgresSettings, onSilence: (cause: Error) => void) {
    this.#pool = new PostgresPool(settings, { size: 1, depth: 1 });
    this.#onSilence = onSilence;
  }

  /** Until the function that it returns is called. */
  start(): () => void {
    this.#waiting += 1;
    this.#timer ??= setTimeout(() => this.#beat(), EVERY_MS);
    return () => {
      this.#waiting -= 1;
    };
  }

  /** A question beside large writes. @throws StoreUnavailableError, DatabaseError */
  ask(...call: Call): Promise<Row[]> {
    const withinMs = this.#pool.isConnected ? WITHIN_MS : CONNECTED_WITHIN_MS;
    return this.#pool.run(null, call, performance.now() + withinMs);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #beat(): Promise<void> {
    if (this.#waiting > 0) {
      try {
        await this.ask('SELECT 1 AS pulse');
      } catch (error) {
        // Whether it is silent to large writes that have ended since is nobody's concern.
        if (this.#waiting > 0 && !isAnswer(error)) this.#onSilence(error as Error);
      }
    }
    this.#timer = this.#waiting > 0 ? setTimeout(() => this.#beat(), EVERY_MS) : null;
  }
}

/** Whether it is the server that says no, to one connection more, say: then it lives. */
const isAnswer = (error: unknown): boolean =>
  error instanceof DatabaseError || (error as Error).cause instanceof DatabaseError;
