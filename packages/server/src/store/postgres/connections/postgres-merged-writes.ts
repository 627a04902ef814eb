import { Batcher } from '../../../concurrency/batcher.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Call, Row } from './postgres-connection.ts';
import { mayBeApplied } from './postgres-errors.ts';
import { type PostgresPool, SENT_BEFORE_MS } from './postgres-pool.ts';

/** Most writes of one transaction: they wait for the slowest of them. */
const WRITES_MAX = 16;
/** The transactions of a project under way at once: while PostgreSQL works on them, the writes of the next are collected. */
const TRANSACTIONS_MAX = 2;

/** A write that has less time left is made alone, so that the others have time for their connection, in milliseconds. */
const LEFT_MS = SENT_BEFORE_MS + 500;

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
   * The row of the write. Null: the transaction was rolled back, because of this write or of another one, or this write has little time
   * left. It is to be made alone then, and has the failure that is its own.
   * @throws StoreUnavailableError, DatabaseError where it may have been applied or not
   */
  run(project: ProjectKey, item: Item, until: number, onSent: () => void): Promise<Row | null> {
    return this.#batcher.add(project, { item, until, onSent });
  }

  async #write(project: ProjectKey, writes: readonly Waiting<Item>[]): Promise<(Row | null)[]> {
    const latest = performance.now() + LEFT_MS;
    const isInTime = ({ until }: Waiting<Item>) => until > latest;
    const inTime = writes.filter(isInTime);
    if (inTime.length === 0) return writes.map(() => null);
    const items = inTime.map(({ item }) => item);
    const until = Math.min(...inTime.map((write) => write.until));
    const onSent = () => {
      for (const write of inTime) write.onSent();
    };
    try {
      const [rows] = (await this.#pool.run(project, this.#callsOf(project, items), until, onSent)) as [Row[]];
      const left = rows.values();
      return writes.map((write) => (isInTime(write) ? (left.next().value as Row) : null));
    } catch (error) {
      if (mayBeApplied(error)) throw error;
      return writes.map(() => null);
    }
  }
}
