import { type CarriedRecord, type CarryCounts, StoreUnavailableError, type WriteStamp } from '../store.ts';
import type { Row, SqliteConnection } from './sqlite-connection.ts';
import { readFailure } from './sqlite-errors.ts';
import type { GroupWrites } from './sqlite-groups.ts';
import type { PresenceWrites } from './sqlite-presence-writes.ts';
import type { SnapshotPool } from './sqlite-snapshots.ts';
import type { UserWrites } from './sqlite-users.ts';

/** Rows read at a time, the event loop let go between; at most so many records make a piece. */
const PIECE_ROWS = 1_000;

/** Records of one kind: the rows to look at, and what each of them is, if anything. */
interface CarriedKind {
  readonly sql: string;
  toRecord(row: Row): CarriedRecord | null;
}

/** In the order in which another store can take them. Rows of deleted projects are not looked at. */
export const CARRIED_KINDS: readonly CarriedKind[] = [
  {
    sql: `SELECT value FROM store_secrets WHERE name = 'service_key'`,
    toRecord: ([key]) => ({ type: 'serviceKey', key: Buffer.from(key as Uint8Array).toString('base64') }),
  },
  {
    sql: 'SELECT id, secret, name, created_at FROM customers',
    toRecord: ([id, secret, name, createdAt]) =>
      ({ type: 'customer', id, secret, name, createdAt }) as CarriedRecord,
  },
  {
    sql: `SELECT id, customer_id, name, secret, previous_secret, previous_valid_until, created_at FROM projects`,
    toRecord: ([id, customerId, name, secret, previousSecret, previousValidUntil, createdAt]) => {
      const secrets = { secret, previousSecret, previousValidUntil };
      return { type: 'project', id, customerId, name, ...secrets, createdAt } as CarriedRecord;
    },
  },
  {
    sql: `SELECT s.id, p.id, s.expires_at, s.revoked
      FROM sessions s CROSS JOIN projects p ON p.project_no = s.project_no`,
    toRecord: ([id, projectId, expiresAt, revoked]) =>
      ({ type: 'session', id, projectId, expiresAt, revoked: revoked === 1 }) as CarriedRecord,
  },
  {
    sql: `SELECT p.id, u.id, u.send_via_messenger, u.send_via_email
      FROM users u CROSS JOIN projects p ON p.project_no = u.project_no`,
    toRecord([projectId, userId, messenger, email]) {
      if (messenger === 1 && email === 1) return null;
      const channels = { sendViaMessenger: messenger === 1, sendViaEmail: email === 1 };
      return { type: 'preferences', projectId, userId, ...channels } as CarriedRecord;
    },
  },
  {
    sql: `SELECT p.id, g.id, g.workspace FROM groups g CROSS JOIN projects p ON p.project_no = g.project_no`,
    toRecord: ([projectId, groupId, workspace]) =>
      workspace === null ? null : ({ type: 'workspace', projectId, groupId, workspace } as CarriedRecord),
  },
  {
    sql: `SELECT p.id, g.id, d.user_id, d.region, d.location, d.updated_at FROM durable_presence d
      CROSS JOIN groups g ON g.group_no = d.group_no CROSS JOIN projects p ON p.project_no = g.project_no`,
    toRecord: ([projectId, groupId, userId, region, location, at]) =>
      ({ type: 'durablePresence', projectId, groupId, userId, region, location, at }) as CarriedRecord,
  },
];

/** All that an export does not carry, from one snapshot (see the port). */
export async function* carriedRecords(pool: SnapshotPool): AsyncGenerator<readonly CarriedRecord[]> {
  const snapshot = await pool.acquire();
  try {
    for (const { sql, toRecord } of CARRIED_KINDS) {
      let [piece, rows]: [CarriedRecord[], number] = [[], 0];
      for (const row of snapshot.statement(sql).iterate()) {
        const record = toRecord(row);
        if (record !== null) piece.push(record);
        rows += 1;
        if (rows % PIECE_ROWS > 0) continue;
        if (piece.length > 0) yield piece;
        piece = [];
        await new Promise(setImmediate);
      }
      if (piece.length > 0) yield piece;
    }
  } catch (error) {
    if (pool.holds(snapshot)) throw readFailure(error);
    throw new StoreUnavailableError('the store was closed', { cause: error });
  } finally {
    pool.release(snapshot);
  }
}

/** Writes of what another store's {@link carriedRecords} gave, on the writer's thread. */
export class CarryWrites {
  readonly #users: UserWrites;
  readonly #groups: GroupWrites;
  readonly #presence: PresenceWrites;
  readonly #project;
  readonly #hasCustomer;
  readonly #putServiceKey;
  readonly #putCustomer;
  readonly #putProject;
  readonly #putSession;

  constructor(
    connection: SqliteConnection,
    users: UserWrites,
    groups: GroupWrites,
    presence: PresenceWrites,
  ) {
    this.#users = users;
    this.#groups = groups;
    this.#presence = presence;
    const put = (table: string, key: string, ...columns: readonly string[]) =>
      connection.prepare(`
        INSERT INTO ${table} (${[key, ...columns].join(', ')}) VALUES (?${', ?'.repeat(columns.length)})
        ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`);
    this.#project = connection.prepare('SELECT project_no FROM projects WHERE id = ?');
    this.#hasCustomer = connection.prepare('SELECT 1 FROM customers WHERE id = ?');
    this.#putServiceKey = put('store_secrets', 'name', 'value');
    this.#putCustomer = put('customers', 'id', 'secret', 'name', 'created_at');
    this.#putProject = put(
      ...(['projects', 'id', 'customer_id', 'name', 'secret'] as const),
      ...['previous_secret', 'previous_valid_until', 'created_at'],
    );
    // A record may be older than the revocation here: a revoked session stays revoked.
    this.#putSession = connection.prepare(`
      INSERT INTO sessions (id, project_no, expires_at, revoked) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET project_no = excluded.project_no, expires_at = excluded.expires_at,
        revoked = max(revoked, excluded.revoked)`);
  }

  /** Within a savepoint of the caller's: all or nothing. */
  carryIn(records: readonly CarriedRecord[], stamp: WriteStamp): CarryCounts {
    const written = records.filter((record) => this.#write(record, stamp)).length;
    return { written, skipped: records.length - written };
  }

  /** False when what the record is about is not there. */
  #write(record: CarriedRecord, stamp: WriteStamp): boolean {
    switch (record.type) {
      case 'serviceKey':
        return this.#putServiceKey.run('service_key', Buffer.from(record.key, 'base64')) > 0;
      case 'customer':
        return this.#putCustomer.run(record.id, record.secret, record.name, record.createdAt) > 0;
      case 'project':
        return this.#writeProject(record);
      default:
        return this.#writeWithin(record, stamp);
    }
  }

  #writeProject(project: CarriedRecord & { type: 'project' }): boolean {
    const { id, customerId, name, secret, previousSecret, previousValidUntil, createdAt } = project;
    if (this.#hasCustomer.get(customerId) === undefined) return false;
    this.#putProject.run(id, customerId, name, secret, previousSecret, previousValidUntil, createdAt);
    return true;
  }

  #writeWithin(record: Extract<CarriedRecord, { projectId: string }>, stamp: WriteStamp): boolean {
    const project = this.#project.get(record.projectId)?.[0] as number | undefined;
    if (project === undefined) return false;
    switch (record.type) {
      case 'session':
        return this.#putSession.run(record.id, project, record.expiresAt, Number(record.revoked)) > 0;
      case 'preferences':
        return this.#users.putPreferences(project, record.userId, record);
      case 'workspace':
        return this.#groups.connect(project, record.groupId, record.workspace, stamp);
      case 'durablePresence':
        return this.#presence.carryIn(project, record);
    }
  }
}
