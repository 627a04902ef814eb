import pg from 'pg';
import { TickCork } from '../../../concurrency/tick-cork.ts';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import {
  beginText,
  type ConnectionOptions,
  IS_STANDBY,
  isStandby,
  type OpenedClient,
  openClient,
  type Setting,
  streamOf,
} from './postgres-connect.ts';
import { isCanceled, isReadOnly, withoutValues } from './postgres-errors.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How often a connection checks for late answers, in milliseconds. */
const CHECK_MS = 200;
const CLOSE_LIMIT_MS = 2_000;
/** How old a connection is at least, in milliseconds, that is replaced because its session only reads. */
const READ_ONLY_MIN_AGE_MS = 1_000;
/** When the next answer is late by so much, in milliseconds, other connections are preferred. */
const LATE_MS = 50;
/** How long each of several statements of a transaction may take on a connection that others share, in milliseconds. */
const TOGETHER_TIMEOUT: Setting = ['statement_timeout', 200];
/** A row as an array of columns. Integers are numbers, bytes are Buffers. */
export type Row = readonly unknown[];

/** A statement with its parameters. Each text is prepared once per connection. */
export type Call = readonly [text: string, ...parameters: unknown[]];

const BIGINT = 20;
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    // Times, counts: all of them far below 2^53.
    if (oid === BIGINT) return Number;
    return format === 'binary' ? pg.types.getTypeParser(oid, format) : pg.types.getTypeParser(oid);
  },
};

const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `rollcall_${names.size}`;
    names.set(text, name);
  }
  return name;
}

const plannedEachTime = new Set<string>();

/**
 * Marks a statement whose best plan depends on the lengths of its lists or on the sizes of its tables: it is planned each
 * time it is sent. Any other statement is planned once per connection, and has that plan while its tables grow.
 */
export function planEachTime(text: string): string {
  plannedEachTime.add(text);
  return text;
}

/** How long the server may be silent while the answer is the next one since `since`, a time of `performance.now()`; in milliseconds. */
export type Patience = (since: number) => number;

const always: Patience = () => Number.POSITIVE_INFINITY;

interface Sent {
  until: number;
  readonly patience: Patience;
  reject(error: unknown): void;
}

/** One connection. Statements are sent as they come, without waiting for the answers to those before. */
export class PostgresConnection implements AsyncDisposable {
  readonly #opened: OpenedClient;
  readonly #client: pg.Client;
  readonly #server: string;
  readonly #sent = new Set<Sent>();
  readonly #check: NodeJS.Timeout;
  readonly #cork = new TickCork();
  readonly #openedAt = performance.now();
  /** Since when the statement that is answered next is the next one, a time of `performance.now()`. */
  #awaitedSince = 0;
  #checkedAt = performance.now();
  /** Why it can be used no more. */
  #end: StoreUnavailableError | null = null;
  /** Called once, when the connection has ended for whatever reason, or takes no new callers. */
  onEnd: () => void = () => {};

  private constructor(opened: OpenedClient, server: string) {
    const { client } = opened;
    this.#opened = opened;
    this.#client = client;
    this.#server = server;
    this.#check = setInterval(() => this.#checkAnswers(), CHECK_MS).unref();
    client.on('error', (error) => this.destroy(error));
    client.on('end', () => this.destroy(new Error('the connection was closed')));
  }

  /** @throws StoreUnavailableError */
  static async open(
    settings: PostgresSettings,
    options: ConnectionOptions = {},
  ): Promise<PostgresConnection> {
    try {
      return new PostgresConnection(await openClient(settings, options), settings.name);
    } catch (error) {
      throw unreachable(settings.name, error);
    }
  }

  /** How many statements are under way. */
  get load(): number {
    return this.#sent.size;
  }

  /** Whether a statement that is sent now would wait behind one that takes long. */
  get isLate(): boolean {
    return this.#sent.size > 0 && performance.now() - this.#awaitedSince > LATE_MS;
  }

  /** Whether it is one session of the server, and none of a pooler, which others use too. */
  get isSession(): boolean {
    return this.#opened.pooled === null;
  }

  /**
   * Statements that are committed together when they resolve, in one round trip. @throws the first failure: DatabaseError from the
   * server; StoreUnavailableError when the connection ends first
   */
  async runCommitted(calls: readonly Call[], until: number): Promise<Row[][]> {
    // A statement alone is a transaction of its own.
    if (calls.length === 1 && this.#opened.pooled === null) return [await this.run(calls[0] as Call, until)];
    const begun = this.begin('READ COMMITTED', calls.length === 1 ? [] : [TOGETHER_TIMEOUT], until);
    const sent = calls.map((call) => this.run(call, until));
    const answers = await together([begun, ...sent, this.end('COMMIT', until)]);
    return answers.slice(1, -1);
  }

  /**
   * Begins a transaction of this isolation level. Settings that the database does not know are left out. Where that fails, the connection
   * ends, since the server would commit the statements that were sent after it one by one.
   */
  async begin(mode: string, settings: readonly Setting[], until: number): Promise<Row[]> {
    const text = beginText(this.#opened, mode, settings);
    const rows = await this.#send({ text, rowMode: 'array', types }, until, always, () => true);
    if (isStandby(rows)) throw unreachable(this.#server, new Error(IS_STANDBY));
    return [];
  }

  /**
   * Commits a transaction, or rolls it back. Where the server cancels that (`pg_cancel_backend`), the connection ends, since its session
   * would stay in the transaction.
   */
  end(text: 'COMMIT' | 'ROLLBACK', until: number, patience?: Patience): Promise<Row[]> {
    return this.#send({ text, rowMode: 'array', types }, until, patience, isCanceled);
  }

  /**
   * Sends a statement of a transaction. The connection is ended, with all that was sent on it, when the answer is not there by `until`, a
   * time of `performance.now()`, or when the server is silent for too long while this answer is the next one.
   * @throws DatabaseError from the server; StoreUnavailableError when the connection ends first
   */
  run([text, ...values]: Call, until: number, patience?: Patience): Promise<Row[]> {
    // The sessions of a pooler have the statements of other processes, which can have the same names.
    const isNamed = this.#opened.pooled === null && !plannedEachTime.has(text);
    const name = isNamed ? nameOf(text) : undefined;
    return this.#send({ text, name, values, rowMode: 'array', types }, until, patience);
  }

  /** The same for statements without parameters, separated by semicolons. The rows of the last. */
  control(text: string, until: number, patience?: Patience): Promise<Row[]> {
    return this.#send({ text, rowMode: 'array', types }, until, patience);
  }

  /** @param isFatal whether the connection ends with the error of this statement */
  #send(
    config: pg.QueryArrayConfig,
    until: number,
    patience = always,
    isFatal: (error: Error) => boolean = () => false,
  ): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) return reject(this.#end);
      const sent = { until, patience, reject };
      if (this.#sent.size === 0) this.#awaitedSince = performance.now();
      this.#sent.add(sent);
      this.#cork.cork(streamOf(this.#client));
      this.#client.query(config as unknown as pg.QueryConfig, (error: Error | undefined, result) => {
        this.#sent.delete(sent);
        this.#awaitedSince = performance.now();
        if (error && isFatal(error)) this.destroy(error);
        if (error) reject(this.#end ?? withoutValues(error));
        else resolve((Array.isArray(result) ? result.at(-1) : result).rows);
        if (isReadOnly(error)) this.#replaceSession();
      });
    });
  }

  /**
   * A session has the default_transaction_read_only of its beginning: once it is off for the role, only a new session writes. What
   * is under way here ends first.
   */
  #replaceSession(): void {
    const isYoung = performance.now() - this.#openedAt < READ_ONLY_MIN_AGE_MS;
    if (isYoung || this.#end !== null) return;
    this.onEnd();
    this.onEnd = () => {};
    setTimeout(() => void this.close(), CLOSE_LIMIT_MS);
  }

  /** The time of a long event-loop tick does not count: nothing was sent or read in it. What came meanwhile is read first. */
  #checkAnswers(): void {
    const now = performance.now();
    const busyMs = now - this.#checkedAt - CHECK_MS;
    this.#checkedAt = now;
    if (busyMs > CHECK_MS) {
      this.#awaitedSince += busyMs;
      for (const sent of this.#sent) sent.until += busyMs;
    }
    setImmediate(() => this.#endIfLate());
  }

  #endIfLate(): void {
    const now = performance.now();
    const [next] = this.#sent;
    if (next === undefined) return;
    const isSilent = now - this.#awaitedSince > next.patience(this.#awaitedSince);
    if (isSilent || [...this.#sent].some(({ until }) => until <= now))
      this.destroy(new Error('no answer in time'));
  }

  /** Ends it at once. Statements under way reject; they may have been applied or not. */
  destroy(cause: Error): void {
    if (this.#end !== null) return;
    this.#end = unreachable(this.#server, cause);
    clearInterval(this.#check);
    for (const { reject } of this.#sent) reject(this.#end);
    this.#sent.clear();
    streamOf(this.#client).destroy();
    this.onEnd();
  }

  /** Ends it when what was sent has been answered; at once when that takes too long. */
  async close(): Promise<void> {
    if (this.#end !== null) return;
    const limit = setTimeout(() => this.destroy(new Error('it does not end')), CLOSE_LIMIT_MS);
    await this.#client.end();
    clearTimeout(limit);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Waits for all, so that none is left behind. @throws the first failure: those after it only follow from it */
export async function together(sent: readonly Promise<Row[]>[]): Promise<Row[][]> {
  await Promise.allSettled(sent);
  return Promise.all(sent);
}

function unreachable(server: string, cause: unknown): StoreUnavailableError {
  const { message, code } = cause as Error & { code?: string };
  // When a name has several addresses, each has an error of its own and there is no message for all.
  const reason = message || code || 'no connection';
  return new StoreUnavailableError(`${server} cannot be reached: ${reason}`, { cause });
}
