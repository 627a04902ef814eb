import type { Setting } from './postgres-connect.ts';
import {
  type Call,
  type Patience,
  type PostgresConnection,
  type Row,
  together,
} from './postgres-connection.ts';

/**
 * How long a short operation waits for its answer, and how long the server may be silent before it counts as dead, in
 * milliseconds. Callers have their answer within 5 s.
 */
export const ANSWER_WITHIN_MS = 4_500;
/**
 * After so many characters of parameters the event loop runs before more are made, so that they leave, the server works on
 * them meanwhile, and other connections are read. Some milliseconds of work.
 */
const PIECE_LENGTH = 512 * 1_024;
/** How many long statements are sent ahead of their answers: bounds the memory that they take. */
const SENT_AHEAD = 4;

type Answers<Calls extends readonly Call[]> = { [Index in keyof Calls]: Row[] };

export interface TransactionOptions {
  /** When the server must have answered the first round trip, on the clock of `performance.now()`. */
  readonly beginUntil: number;
  /** When it must have answered the last statement. */
  readonly until: number;
  /**
   * How long it may be silent before that. Default: {@link ANSWER_WITHIN_MS}, or twice as long as the transaction had lasted before, where
   * that is longer: a busy server ends a statement late that takes too long, and its disk delays large commits.
   */
  readonly silenceMs?: number;
  /** Settings of the server for as long as the transaction lasts. */
  readonly settings: readonly Setting[];
}

/** A transaction: statements that are sent together are one round trip. It begins with the first of them. */
export class Transaction {
  readonly #connection: PostgresConnection;
  readonly #options: TransactionOptions;
  #state: 'new' | 'begun' | 'ended' = 'new';
  #begunAt = 0;

  constructor(connection: PostgresConnection, options: TransactionOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Sends all of them and waits for all answers. @throws the first failure */
  async run<const Calls extends readonly Call[]>(...calls: Calls): Promise<Answers<Calls>> {
    const begun = this.#begin();
    const [, ...answers] = await together([begun, ...calls.map((call) => this.#send(call))]);
    return answers as Answers<Calls>;
  }

  /**
   * Sends statements as they are made, and the commit if `commits`, and yields their answers, in order, after that of the
   * beginning. However long the lists of all of them are, only some are in memory at once, and the event loop goes on. Short ones
   * are one round trip.
   */
  async *runEach(calls: Iterable<Call>, commits = false): AsyncGenerator<Row[]> {
    const begun = this.#begin();
    begun.catch(() => {});
    const sent = [begun];
    try {
      let length = 0;
      for (const call of calls) {
        sent.push(this.#send(call));
        length += lengthOf(call);
        if (length < PIECE_LENGTH) continue;
        length = 0;
        await new Promise(setImmediate);
        while (sent.length > SENT_AHEAD) yield await (sent.shift() as Promise<Row[]>);
      }
      if (commits) sent.push(this.#commit());
      while (sent.length > 0) yield await (sent.shift() as Promise<Row[]>);
    } finally {
      await Promise.allSettled(sent);
    }
  }

  /** Sends statements like {@link runEach} and commits, in one round trip where they are short. Resolves with all answers. */
  async commit(calls: Iterable<Call> = []): Promise<Row[][]> {
    const answers = await Array.fromAsync(this.runEach(calls, true));
    return answers.slice(1, -1);
  }

  /** Rolls back what was not committed. The caller need not wait: the connection answers in order. */
  [Symbol.dispose](): void {
    if (this.#state === 'begun') {
      this.#connection.end('ROLLBACK', performance.now() + ANSWER_WITHIN_MS).catch(() => {});
    }
    this.#state = 'ended';
  }

  async #begin(): Promise<Row[]> {
    if (this.#state !== 'new') return [];
    this.#state = 'begun';
    this.#begunAt = performance.now();
    const { settings, beginUntil } = this.#options;
    return this.#connection.begin('READ COMMITTED', settings, beginUntil);
  }

  #commit(): Promise<Row[]> {
    this.#state = 'ended';
    const committed = this.#connection.end('COMMIT', this.#options.until, this.#patience);
    // When it fails, a statement before it may have failed too, and that error is reported.
    committed.catch(() => {});
    return committed;
  }

  readonly #patience: Patience = (since) =>
    this.#options.silenceMs ?? Math.max(ANSWER_WITHIN_MS, 2 * (since - this.#begunAt));

  #send(call: Call): Promise<Row[]> {
    const sent = this.#connection.run(call, this.#options.until, this.#patience);
    // An earlier failure may be reported instead.
    sent.catch(() => {});
    return sent;
  }
}

function lengthOf([, ...parameters]: Call): number {
  return parameters.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}
