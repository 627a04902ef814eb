import { Batcher } from '../../../concurrency/batcher.ts';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Call, Row } from './postgres-connection.ts';
import { type PostgresPool, SENT_BEFORE_MS } from './postgres-pool.ts';

/** Most writes of one transaction: they wait for the slowest of them. */
const WRITES_MAX = 16;
/** The transactions of a project under way at once: while PostgreSQL works on them, the writes of the next are collected. */
const TRANSACTIONS_MAX = 2;

/** The calls of one transaction that makes the writes; the first answers a row for each of them, in their order. */
export type CallsOf<Item> = (project: ProjectKey, items: readonly Item[]) => readonly Call[];

interface Waiting<Item> {
  readonly item: Item;
  /** When it must be answered, a time of `performance.now()`. */
  readonly until: number;
  /** Called when it has a connection. */
  onSent(): void;
}

/**
 * Writes of one kind. Those of a project that come while others are under way are one transaction, by the same statements as one
 * write alone: most of the cost of a short write is its statements and its commit, not its rows.
 */
export class MergedWrites<Item> {
  readonly #pool: PostgresPool;
  readonly #callsOf: CallsOf<Item>;
  readonly #batcher: Batcher<ProjectKey, Waiting<Item>, Row | null>;

  constructor(pool: PostgresPool, callsOf: CallsOf<Item>) {
    this.#pool = pool;
    this.#callsOf = callsOf;
    this.#batcher = new Batcher(
      WRITES_MAX,
      (project, writes) => this.#write(project, writes),
      TRANSACTIONS_MAX,
    );
  }

  /**
   * The row of the write. Null: the transaction failed, or was too late, because of this write or of another one, and nothing of
   * it was applied. Each is made alone then, and has the failure that is its own.
   * @throws StoreUnavailableError when the connection ends first: it may have been applied or not
   */
  run(project: ProjectKey, item: Item, until: number, onSent: () => void): Promise<Row | null> {
    return this.#batcher.add(project, { item, until, onSent });
  }

  async #write(
    project: ProjectKey,
    writes: readonly Waiting<Item>[],
  ): Promise<(Row | StoreUnavailableError | null)[]> {
    const latest = performance.now() + SENT_BEFORE_MS;
    const inTime = writes.filter(({ until }) => until > latest);
    if (inTime.length === 0) return writes.map(() => tooLate());
    const calls = this.#callsOf(
      project,
      inTime.map(({ item }) => item),
    );
    const until = Math.min(...inTime.map((write) => write.until));
    const onSent = () => {
      for (const write of inTime) write.onSent();
    };
    try {
      const [rows] = (await this.#pool.run(project, calls, until, onSent)) as [Row[]];
      const left = rows.values();
      return writes.map((write) => (write.until > latest ? (left.next().value as Row) : tooLate()));
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error;
      return writes.map(() => null);
    }
  }
}

const tooLate = () => new StoreUnavailableError('no connection to PostgreSQL became free in time');
