import type { GroupRecord, Json, ProjectKey } from '../store.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { toGroup } from './sqlite-group-row.ts';
import { inside } from './sqlite-pages.ts';

/** Members read at a time, the event loop let go between: under a millisecond. */
const PIECE_MEMBERS = 5_000;
/** How many long reads go on at once; more wait for one to end. */
const MAX_SNAPSHOTS = 8;
/** A reader that takes nothing for so long loses its snapshot, which keeps the log from being folded into the file. */
const IDLE_LIMIT_MS = 30_000;

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

  constructor(file: string) {
    this.#file = file;
  }

  /** How many snapshots are held now. */
  get active(): number {
    return this.#taken.size;
  }

  /** A snapshot of the newest state; give it back with {@link release}. */
  async acquire(): Promise<Snapshot> {
    while (this.#taken.size >= MAX_SNAPSHOTS)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
    for (const snapshot of [...this.#free.splice(0), ...this.#taken]) snapshot.close();
    this.#taken.clear();
  }
}

/** A group with many members: all of it from one snapshot, the members in pieces. Null when it is not there. */
export async function readMembersInPieces(
  pool: SnapshotPool,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  const snapshot = await pool.acquire();
  const row = snapshot.group.get(project, id);
  if (row === undefined) {
    pool.release(snapshot);
    return null;
  }
  return toGroup(id, row, new MemberPieces(pool, snapshot, row[5] as number));
}

/** The members of one group as pieces of one JSON array. Its snapshot ends when it was read, left, or left idle. */
class MemberPieces implements AsyncIterable<Json> {
  readonly #pool: SnapshotPool;
  readonly #groupNo: number;
  readonly #idle: NodeJS.Timeout;
  #snapshot: Snapshot | null;

  constructor(pool: SnapshotPool, snapshot: Snapshot, groupNo: number) {
    this.#pool = pool;
    this.#snapshot = snapshot;
    this.#groupNo = groupNo;
    this.#idle = setTimeout(() => this.#end(), IDLE_LIMIT_MS);
    this.#idle.unref();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Json> {
    try {
      yield '[';
      let after = '';
      for (let count = PIECE_MEMBERS; count === PIECE_MEMBERS; ) {
        if (this.#snapshot === null) throw new Error('a long read was left idle and lost its snapshot');
        this.#idle.refresh();
        const row = this.#snapshot.members.get(this.#groupNo, after) as [string, number, string | null];
        const separator = after === '' || row[1] === 0 ? '' : ',';
        yield separator + inside(row[0]);
        count = row[1];
        after = row[2] ?? after;
        await new Promise(setImmediate);
      }
      yield ']';
    } finally {
      this.#end();
    }
  }

  #end(): void {
    clearTimeout(this.#idle);
    if (this.#snapshot !== null) this.#pool.release(this.#snapshot);
    this.#snapshot = null;
  }
}
