import { type GroupRecord, type Json, type ProjectKey, StoreUnavailableError } from '../store.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { readFailure } from './sqlite-errors.ts';
import { toGroup } from './sqlite-group-row.ts';
import { inside } from './sqlite-pages.ts';

/** Members read at a time, the event loop let go between: under a millisecond. */
const PIECE_MEMBERS = 5_000;
/** How many long reads go on at once; more wait for one to end. */
const MAX_SNAPSHOTS = 8;
/** A reader that takes nothing for so long loses its snapshot, which keeps the log from being folded into the file. */
const IDLE_LIMIT_MS = 30_000;
/** Nobody holds a snapshot for longer, however steadily they read. */
const TOTAL_LIMIT_MS = 5 * 60_000;
/** How long a long read waits for its turn. */
const WAIT_LIMIT_MS = 5_000;

/** A connection for reads that take long and must see one state from beginning to end. */
class Snapshot {
  readonly #connection: SqliteConnection;
  readonly group;
  readonly members;

  constructor(file: string) {
    this.#connection = new SqliteConnection(file, { readOnly: true });
    this.group = this.#connection.prepare(`
      SELECT name, status, metadata, workspace IS NOT NULL, revision, group_no FROM groups
      WHERE project_no = ? AND id = ?`);
    this.members = this.#connection.prepare(`
      SELECT json_group_array(user_id), count(*), max(user_id) FROM (
        SELECT user_id FROM memberships WHERE group_no = ? AND user_id > ? ORDER BY user_id LIMIT ${PIECE_MEMBERS})`);
  }

  begin(): void {
    this.#connection.database.exec('BEGIN');
  }

  end(): void {
    this.#connection.database.exec('COMMIT');
  }

  close(): void {
    this.#connection.close();
  }
}

/** The snapshots of one store: a few connections, used again. */
export class SnapshotPool {
  readonly #file: string;
  readonly #free: Snapshot[] = [];
  readonly #taken = new Set<Snapshot>();
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** How many snapshots are held now. */
  get active(): number {
    return this.#taken.size;
  }

  /** A snapshot of the newest state; give it back with {@link release}. @throws StoreUnavailableError */
  async acquire(): Promise<Snapshot> {
    if (this.#taken.size >= MAX_SNAPSHOTS) await this.#turn();
    if (this.#closed) throw new StoreUnavailableError('the store is closed');
    const snapshot = this.#free.pop() ?? new Snapshot(this.#file);
    this.#taken.add(snapshot);
    snapshot.begin();
    return snapshot;
  }

  release(snapshot: Snapshot): void {
    if (!this.#taken.delete(snapshot)) return;
    snapshot.end();
    this.#free.push(snapshot);
    this.#waiting.shift()?.();
  }

  close(): void {
    this.#closed = true;
    for (const snapshot of [...this.#free.splice(0), ...this.#taken]) snapshot.close();
    this.#taken.clear();
    for (const next of this.#waiting.splice(0)) next();
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        clearTimeout(limit);
        resolve();
      };
      const limit = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(next), 1);
        reject(new StoreUnavailableError('too many long reads are under way'));
      }, WAIT_LIMIT_MS);
      this.#waiting.push(next);
    });
  }
}

/** A group with many members: all of it from one snapshot, the members in pieces. Null when it is not there. */
export async function readMembersInPieces(
  pool: SnapshotPool,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  const snapshot = await pool.acquire();
  try {
    const row = snapshot.group.get(project, id);
    if (row !== undefined) return toGroup(id, row, new MemberPieces(pool, snapshot, row[5] as number));
  } catch (error) {
    pool.release(snapshot);
    throw readFailure(error);
  }
  pool.release(snapshot);
  return null;
}

/** The members of one group as pieces of one JSON array. Its snapshot ends when it was read, left, or left idle. */
class MemberPieces implements AsyncIterable<Json>, AsyncIterator<Json> {
  readonly #pool: SnapshotPool;
  readonly #groupNo: number;
  readonly #idle: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout;
  #snapshot: Snapshot | null;
  #after = '';
  #next: 'beginning' | 'members' | 'end' | 'nothing' = 'beginning';

  constructor(pool: SnapshotPool, snapshot: Snapshot, groupNo: number) {
    this.#pool = pool;
    this.#snapshot = snapshot;
    this.#groupNo = groupNo;
    this.#idle = setTimeout(() => this.#end(), IDLE_LIMIT_MS).unref();
    this.#total = setTimeout(() => this.#end(), TOTAL_LIMIT_MS).unref();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Json>> {
    switch (this.#next) {
      case 'beginning':
        this.#next = 'members';
        return { done: false, value: '[' };
      case 'members':
        return { done: false, value: await this.#members() };
      case 'end':
        this.#next = 'nothing';
        this.#end();
        return { done: false, value: ']' };
      default:
        return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<Json>> {
    this.#next = 'nothing';
    this.#end();
    return { done: true, value: undefined };
  }

  /** The next of them, the event loop let go before. */
  async #members(): Promise<Json> {
    await new Promise(setImmediate);
    if (this.#snapshot === null)
      throw new StoreUnavailableError('a long read took too long, and lost its snapshot');
    this.#idle.refresh();
    const row = this.#snapshot.members.get(this.#groupNo, this.#after) as [string, number, string | null];
    const [ids, count, last] = row;
    const separator = this.#after === '' || count === 0 ? '' : ',';
    this.#after = last ?? this.#after;
    if (count < PIECE_MEMBERS) this.#next = 'end';
    return separator + inside(ids);
  }

  #end(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    if (this.#snapshot !== null) this.#pool.release(this.#snapshot);
    this.#snapshot = null;
  }
}
