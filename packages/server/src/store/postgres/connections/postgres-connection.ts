import type { Duplex } from 'node:stream';
import pg from 'pg';
import { StoreUnavailableError } from '../../store.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How long a connection may take to be made, in milliseconds. */
export const CONNECT_LIMIT_MS = 3_000;
/** After so long without a word it is asked for whether the other end is still there, in milliseconds. */
const KEEP_ALIVE_MS = 10_000;
/** How long the end of one may take. */
const CLOSE_LIMIT_MS = 2_000;
/** Who waits for an answer for so long, in milliseconds, is not joined by others where they can go elsewhere. */
const HELD_UP_MS = 50;
/**
 * A transaction whose process says nothing for so long, as it hangs, is ended by the server: others wait for its locks.
 * More than a process ever takes to work out what to write.
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
 * time it is sent. Any other statement is planned once per connection, and keeps that plan while its tables grow.
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
  /** When it must have been answered, on the clock of `performance.now()`. */
  readonly until: number;
  reject(error: unknown): void;
}

/** One connection. Statements are sent as they come, without waiting for the answers to those before. */
export class PostgresConnection {
  readonly #client: pg.Client;
  readonly #server: string;
  readonly #sent = new Set<Sent>();
  #corked = false;
  /** When the statement that is answered next began to be waited for. */
  #awaitedSince = 0;
  /** Why it can be used no more. */
  #end: StoreUnavailableError | null = null;
  /** Called after each answer. */
  onAnswer: () => void = () => {};
  /** Called once, when the connection has ended for whatever reason. */
  onEnd: () => void = () => {};

  private constructor(client: pg.Client, server: string) {
    this.#client = client;
    this.#server = server;
    client.on('error', (error) => this.destroy(error));
    client.on('end', () => this.destroy(new Error('the connection was closed')));
  }

  /** A statement on it waits for no lock longer than `lockTimeoutMs`, where that is given. @throws StoreUnavailableError */
  static async open(settings: PostgresSettings, lockTimeoutMs = 0): Promise<PostgresConnection> {
    const { tls, tlsOptional, name } = settings;
    try {
      return new PostgresConnection(await connect(settings, tls, lockTimeoutMs), name);
    } catch (error) {
      const isWithoutTls = (error as Error).message.includes('does not support SSL');
      if (!tlsOptional || !isWithoutTls) throw unreachable(name, error);
    }
    try {
      return new PostgresConnection(await connect(settings, null, lockTimeoutMs), name);
    } catch (error) {
      throw unreachable(name, error);
    }
  }

  /** How many statements are under way. */
  get load(): number {
    return this.#sent.size;
  }

  /** Whether what is sent now would wait behind a statement that takes long. */
  get isHeldUp(): boolean {
    return this.#sent.size > 0 && performance.now() - this.#awaitedSince > HELD_UP_MS;
  }

  get isOpen(): boolean {
    return this.#end === null;
  }

  /** Sends a statement. @throws DatabaseError from the server; StoreUnavailableError when the connection ends first */
  run([text, ...values]: Call, until: number): Promise<Row[]> {
    const name = plannedEachTime.has(text) ? undefined : nameOf(text);
    return this.#send({ text, name, values, rowMode: 'array', types }, until);
  }

  /** Sends what controls a transaction: statements without parameters, separated by semicolons. */
  control(text: string, until: number): Promise<Row[]> {
    return this.#send({ text, rowMode: 'array', types }, until);
  }

  #send(config: pg.QueryArrayConfig, until: number): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.#end !== null) return reject(this.#end);
      const sent = { until, reject };
      if (this.#sent.size === 0) this.#awaitedSince = performance.now();
      this.#sent.add(sent);
      this.#gather();
      this.#client.query(config as unknown as pg.QueryConfig, (error: Error | undefined, result) => {
        this.#sent.delete(sent);
        this.#awaitedSince = performance.now();
        if (error) reject(this.#end ?? error);
        else resolve(result.rows);
        this.onAnswer();
      });
    });
  }

  /** What is sent in one turn of the event loop goes out in one write: a system call costs more than a statement. */
  #gather(): void {
    if (this.#corked) return;
    const { stream } = (this.#client as unknown as WithStream).connection;
    this.#corked = true;
    stream.cork();
    setImmediate(() => {
      this.#corked = false;
      stream.uncork();
    });
  }

  /** Ends the connection when something has not been answered in time. */
  endLate(now: number): void {
    for (const { until } of this.#sent) {
      if (until > now) continue;
      this.destroy(new Error('no answer in time'));
      return;
    }
  }

  /** Ends it at once; what is under way rejects, and whether it was applied nobody knows. */
  destroy(cause: Error): void {
    if (this.#end !== null) return;
    this.#end = unreachable(this.#server, cause);
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
}

/** What the client does not tell of itself. */
interface WithStream {
  readonly connection: { readonly stream: Duplex };
}

async function connect(
  settings: PostgresSettings,
  tls: PostgresSettings['tls'],
  lockTimeoutMs: number,
): Promise<pg.Client> {
  const { host, port, database, user, password, applicationName, statementTimeoutMs } = settings;
  const client = new pg.Client({
    host,
    port,
    ...(database === undefined ? {} : { database }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ssl: tls ?? false,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline: true,
  } as pg.ClientConfig);
  // Until it is a connection, `connect` is who says what went wrong.
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
