import { DatabaseError } from 'pg';
import { Semaphore } from '../../../concurrency/semaphore.ts';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { PoolUse } from '../../store-timings.ts';
import type { ConnectionOptions } from './postgres-connect.ts';
import { type Call, PostgresConnection, type Row } from './postgres-connection.ts';
import type { PostgresSettings } from './postgres-url.ts';

/**
 * So much of its time an operation still has when it gets a connection, in milliseconds. An operation that gets none until
 * then is rejected before anything is sent: the connection of a statement that is not answered in time is ended.
 */
export const SENT_BEFORE_MS = 1_000;
/** After the server has rejected a connection, no other one is opened for so long where those that are open suffice, in milliseconds. */
const REST_MS = 1_000;
/** The load of a connection that is late, and that of one which is not to be opened for now. */
const LATE = Number.MAX_VALUE;
const RESTING = Number.POSITIVE_INFINITY;

interface PoolOptions extends Pick<ConnectionOptions, 'lockTimeoutMs'> {
  /** Most connections. Each is opened when it is first needed. */
  readonly size: number;
  /** Statements under way on one connection: enough to hide the round trip. More would only wait on the connection. */
  readonly depth: number;
  /** Most connections that are leased at once, and of those the most of one project. */
  readonly leases: number;
  readonly leasesPerProject: number;
}

interface Slot {
  connection: PostgresConnection | null;
  opening: Promise<PostgresConnection> | null;
  /** Statements that wait until it is open. */
  waiting: number;
  isLeased: boolean;
}

/** A connection that one caller has to itself, until it is disposed of. */
interface Lease extends Disposable {
  readonly connection: PostgresConnection;
}

/**
 * Some connections. Single statements share them, pipelined; a caller that needs several statements, or may wait for a lock,
 * leases one. Projects are served round robin.
 */
export class PostgresPool {
  readonly #settings: PostgresSettings;
  readonly #options: PoolOptions;
  readonly #slots: readonly Slot[];
  readonly #statements: Semaphore;
  readonly #leases: Semaphore;
  #isClosed = false;
  /** Until then no connection is opened that need not be: a time of `performance.now()`. */
  #restsUntil = 0;
  /** Those who wait for the end of a lease: see {@link #openOrOther}. */
  readonly #awaiting = new Set<() => void>();

  constructor(settings: PostgresSettings, options: PoolOptions) {
    const { size, depth, leases, leasesPerProject } = options;
    const unavailable = () => new StoreUnavailableError('no connection to PostgreSQL became free in time');
    this.#settings = settings;
    this.#options = options;
    this.#slots = Array.from({ length: size }, () => ({
      connection: null,
      opening: null,
      waiting: 0,
      isLeased: false,
    }));
    this.#statements = new Semaphore({ permits: size * depth, unavailable });
    this.#leases = new Semaphore({ permits: leases, permitsPerKey: leasesPerProject, unavailable });
  }

  get use(): PoolUse {
    const open = this.#slots.filter(({ connection }) => connection !== null);
    const busy = open.filter((slot) => slot.isLeased || this.#loadOf(slot) > 0).length;
    const awaited = this.#statements.waiting + this.#leases.waiting;
    return { busy, open: open.length, limit: this.#slots.length, awaited };
  }

  get isContended(): boolean {
    return this.#leases.isContended;
  }

  /**
   * Runs statements, mostly one, which are answered by `until`, and committed then. `onSent` is called when they have a
   * connection. @throws StoreUnavailableError, DatabaseError
   */
  run(
    project: ProjectKey | null,
    calls: readonly Call[],
    until: number,
    onSent: () => void = () => {},
  ): Promise<Row[][]> {
    const send = async () => {
      for (;;) {
        const slot = this.#leastLoaded();
        if (slot.connection !== null) {
          onSent();
          return await slot.connection.runCommitted(calls, until);
        }
        // Chosen anew then: a connection that was leased meanwhile would make the statement part of a transaction.
        slot.waiting += 1;
        await this.#openOrOther(slot, until).finally(() => {
          slot.waiting -= 1;
        });
      }
    };
    return this.#statements.run(project, send, until - SENT_BEFORE_MS);
  }

  /** @throws StoreUnavailableError when there is no connection by `until` */
  async lease(project: ProjectKey | null, until: number): Promise<Lease> {
    await this.#leases.acquire(project, until - SENT_BEFORE_MS);
    let slot: Slot | undefined;
    const release = () => {
      if (slot !== undefined) slot.isLeased = false;
      this.#notifyAwaiting();
      this.#leases.release(project);
    };
    try {
      for (;;) {
        slot = this.#leastLoaded();
        slot.isLeased = true;
        const connection: PostgresConnection | null =
          slot.connection ?? (await this.#openOrOther(slot, until));
        if (connection !== null) return { connection, [Symbol.dispose]: release };
        slot.isLeased = false;
      }
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Lets what is under way finish, and rejects the callers that wait or come later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rejectWaiting(storeClosed());
    const closed = this.#slots.map(async ({ connection, opening }) => {
      const open = connection ?? (await opening?.catch(() => null));
      await open?.close();
    });
    await Promise.all(closed);
  }

  /** Of the connections that are not leased. When the next answer of one is late, others are preferred. */
  #leastLoaded(): Slot {
    if (this.#isClosed) throw storeClosed();
    let least: Slot | undefined;
    let leastLoad = Number.POSITIVE_INFINITY;
    for (const slot of this.#slots) {
      if (slot.isLeased) continue;
      const load = this.#loadOf(slot);
      if (load >= leastLoad && least !== undefined) continue;
      [least, leastLoad] = [slot, load];
    }
    if (least === undefined) throw new StoreUnavailableError('all connections to PostgreSQL are leased');
    return least;
  }

  #loadOf({ connection, waiting }: Slot): number {
    if (connection === null) return performance.now() < this.#restsUntil ? RESTING : waiting;
    return connection.isLate ? LATE : connection.load;
  }

  /**
   * Opens the connection. Null where the server rejects it, as at its limit of connections, and another one can be used in time,
   * if need be after its lease. @throws StoreUnavailableError
   */
  async #openOrOther(slot: Slot, until: number): Promise<PostgresConnection | null> {
    const latest = until - SENT_BEFORE_MS;
    const open = () => this.#slots.filter(({ connection }) => connection !== null);
    const hasOther = () => open().some(({ isLeased }) => !isLeased);
    try {
      return await this.#open(slot, until);
    } catch (error) {
      if (!isRejected(error)) throw error;
      if (open().length > 0 && !hasOther()) await this.#endOfLease(latest);
      if (!hasOther() || performance.now() > latest) throw error;
      return null;
    }
  }

  /** Resolves when a lease or an open connection ends, and at `until`. */
  #endOfLease(until: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(limit);
        this.#awaiting.delete(end);
        resolve();
      };
      const limit = setTimeout(end, Math.max(0, until - performance.now()));
      this.#awaiting.add(end);
    });
  }

  #notifyAwaiting(): void {
    for (const end of [...this.#awaiting]) end();
  }

  #open(slot: Slot, until: number): Promise<PostgresConnection> {
    slot.opening ??= PostgresConnection.open(this.#settings, { ...this.#options, until })
      .then((connection) => {
        slot.connection = connection;
        this.#restsUntil = 0;
        connection.onEnd = () => {
          slot.connection = null;
          this.#notifyAwaiting();
        };
        return connection;
      })
      .catch((error) => {
        if (isRejected(error)) this.#restsUntil = performance.now() + REST_MS;
        // Without a single connection, the callers that wait would only learn the same later.
        if (this.#slots.every(({ connection }) => connection === null)) this.#rejectWaiting(error);
        throw error;
      })
      .finally(() => {
        slot.opening = null;
      });
    return slot.opening;
  }

  #rejectWaiting(error: unknown): void {
    this.#statements.rejectWaiting(error);
    this.#leases.rejectWaiting(error);
    this.#notifyAwaiting();
  }
}

export const storeClosed = () => new StoreUnavailableError('the store is closed');

/** Whether the server has answered, and opens no connection now: it serves those that are open. */
const isRejected = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof DatabaseError;
