import type { Duplex } from 'node:stream';
import pg from 'pg';
import { TickCork } from '../../../concurrency/tick-cork.ts';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How long a connection may take to be made, in milliseconds. */
const CONNECT_LIMIT_MS = 3_000;
/** An idle connection for so long is probed by the kernel, in milliseconds: it ends when the server's machine is gone. */
const KEEP_ALIVE_MS = 10_000;
/** How often a connection checks for late answers, in milliseconds. */
const CHECK_MS = 200;
const CLOSE_LIMIT_MS = 2_000;
/** When the next answer is late by so much, in milliseconds, other connections are preferred. */
const LATE_MS = 50;
/**
 * The server ends a transaction whose process sends nothing for so long, in milliseconds: others wait for its locks. No
 * process takes as long to work out what to write next.
 */
const IDLE_IN_TRANSACTION_MS = 10_000;

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

/**
 * Without statistics (after a restore, without autovacuum) PostgreSQL takes all rows of a project for a few and reads all
 * of them, to join them with a list or to sort them. These settings leave nested loops and indexes: the time of a statement
 * then depends on its lists, not on the statistics. Statements with lists are written for that: see postgres-lists.ts.
 * Compiling plans (jit) costs more than any of these statements takes.
 */
const PLANNER_SETTINGS = [
  'jit',
  'enable_seqscan',
  'enable_bitmapscan',
  'enable_hashjoin',
  'enable_mergejoin',
];

interface Sent {
  readonly until: number;
  readonly silenceMs: number;
  reject(error: unknown): void;
}

export interface ConnectionOptions {
  /** How long a statement waits for a lock, in milliseconds, unless its transaction has its own limit. Default: no limit. */
  readonly lockTimeoutMs?: number;
  /** When it must have been made, a time of `performance.now()`. It may take 3 s at most. */
  readonly until?: number;
}

/** One connection. Statements are sent as they come, without waiting for the answers to those before. */
export class PostgresConnection implements AsyncDisposable {
  readonly #client: pg.Client;
  readonly #server: string;
  readonly #sent = new Set<Sent>();
  readonly #check: NodeJS.Timeout;
  readonly #cork = new TickCork();
  /** Since when the statement that is answered next is the next one, a time of `performance.now()`. */
  #awaitedSince = 0;
  /** Why it can be used no more. */
  #end: StoreUnavailableError | null = null;
  /** Called once, when the connection has ended for whatever reason. */
  onEnd: () => void = () => {};

  private constructor(client: pg.Client, server: string) {
    this.#client = client;
    this.#server = server;
    // After a long event-loop tick, the answers that came meanwhile are read first.
    this.#check = setInterval(() => setImmediate(() => this.#endIfLate()), CHECK_MS).unref();
    client.on('error', (error) => this.destroy(error));
    client.on('end', () => this.destroy(new Error('the connection was closed')));
  }

  /** @throws StoreUnavailableError */
  static async open(
    settings: PostgresSettings,
    options: ConnectionOptions = {},
  ): Promise<PostgresConnection> {
    const { tls, tlsOptional, name } = settings;
    try {
      const client = await connect(settings, tls, options).catch((error: Error) => {
        if (!tlsOptional || !error.message.includes('does not support SSL')) throw error;
        return connect(settings, null, options);
      });
      return new PostgresConnection(client, name);
    } catch (error) {
      throw unreachable(name, error);
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

  get isOpen(): boolean {
    return this.#end === null;
  }

  /**
   * Sends a statement. The connection is ended, with all that was sent on it, when the answer is not there by `until`, a
   * time of `performance.now()`, or when the server is silent for `silenceMs` while this answer is the next one.
   * @throws DatabaseError from the server; StoreUnavailableError when the connection ends first
   */
  run([text, ...values]: Call, until: number, silenceMs?: number): Promise<Row[]> {
    const name = plannedEachTime.has(text) ? undefined : nameOf(text);
    return this.#send({ text, name, values, rowMode: 'array', types }, until, silenceMs);
  }

  /** The same for what controls a transaction: statements without parameters, separated by semicolons. */
  control(text: string, until: number, silenceMs?: number): Promise<Row[]> {
    return this.#send({ text, rowMode: 'array', types }, until, silenceMs);
  }

  #send(config: pg.QueryArrayConfig, until: number, silenceMs = Number.POSITIVE_INFINITY): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) return reject(this.#end);
      const sent = { until, silenceMs, reject };
      if (this.#sent.size === 0) this.#awaitedSince = performance.now();
      this.#sent.add(sent);
      this.#cork.cork((this.#client as unknown as WithStream).connection.stream);
      this.#client.query(config as unknown as pg.QueryConfig, (error: Error | undefined, result) => {
        this.#sent.delete(sent);
        this.#awaitedSince = performance.now();
        if (error) reject(this.#end ?? error);
        else resolve(result.rows);
      });
    });
  }

  #endIfLate(): void {
    const now = performance.now();
    const [next] = this.#sent;
    if (next === undefined) return;
    const isSilent = now - this.#awaitedSince > next.silenceMs;
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
    (this.#client as unknown as WithStream).connection.stream.destroy();
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

/** A private part of the client. */
interface WithStream {
  readonly connection: { readonly stream: Duplex };
}

async function connect(
  settings: PostgresSettings,
  tls: PostgresSettings['tls'],
  { lockTimeoutMs = 0, until = Number.POSITIVE_INFINITY }: ConnectionOptions,
): Promise<pg.Client> {
  const { host, port, database, user, password, applicationName, statementTimeoutMs } = settings;
  const client = new pg.Client({
    host,
    port,
    database,
    user,
    password,
    ssl: tls ?? false,
    application_name: applicationName,
    // 0 would be no limit.
    connectionTimeoutMillis: Math.max(1, Math.min(CONNECT_LIMIT_MS, until - performance.now())),
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: true,
  } as pg.ClientConfig);
  // Until it is connected, `connect` rejects with what went wrong.
  client.on('error', () => {});
  await client.connect();
  // A database that does not know one of these settings has another planner and needs none of them.
  for (const setting of PLANNER_SETTINGS) client.query(`SET ${setting} = off`).catch(() => {});
  return client;
}

function unreachable(server: string, cause: unknown): StoreUnavailableError {
  const { message, code } = cause as Error & { code?: string };
  // When a name has several addresses, each has an error of its own and there is no message for all.
  const reason = message || code || 'no connection';
  return new StoreUnavailableError(`${server} cannot be reached: ${reason}`, { cause });
}
