import { randomBytes } from 'node:crypto';
import type { CustomerRecord, ProjectKey, ProjectRecord, SessionRecord, Store } from '../store.ts';
import type { Row, SqliteConnection, Statement } from './sqlite-connection.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const PROJECT = `p.project_no, p.id, p.customer_id, p.name, p.secret, p.previous_secret, p.previous_valid_until, p.created_at`;
const CUSTOMER = 'id, secret, name, created_at';
const SERVICE_KEY_BYTES = 64;
/** Rows of a deleted project that are removed in one transaction: some 20 ms, so that other writes hardly wait. */
const PURGE_ROWS = 2_000;

function toProject(row: Row): ProjectRecord {
  return {
    key: row[0] as number,
    id: row[1] as string,
    customerId: row[2] as string,
    name: row[3] as string,
    secret: row[4] as string,
    previousSecret: row[5] as string | null,
    previousValidUntil: row[6] as number | null,
    createdAt: row[7] as number,
  };
}

function toCustomer(row: Row): CustomerRecord {
  return {
    id: row[0] as string,
    secret: row[1] as string,
    name: row[2] as string,
    createdAt: row[3] as number,
  };
}

/** Reads of customers, projects and sessions, on the main thread. */
export function projectReads(reader: SqliteReader) {
  const customer = reader.prepare(`SELECT ${CUSTOMER} FROM customers WHERE id = ?`);
  const customers = reader.prepare(`SELECT ${CUSTOMER} FROM customers ORDER BY id`);
  const project = reader.prepare(`SELECT ${PROJECT} FROM projects p WHERE p.id = ?`);
  const projects = reader.prepare(`SELECT ${PROJECT} FROM projects p ORDER BY p.id`);
  const projectsOf = reader.prepare(
    `SELECT ${PROJECT} FROM projects p WHERE p.customer_id = ? ORDER BY p.id`,
  );
  const session = reader.prepare(`
    SELECT ${PROJECT}, s.expires_at, s.revoked FROM sessions s CROSS JOIN projects p ON p.project_no = s.project_no
    WHERE s.id = ?`);
  return {
    findCustomer(id: string): CustomerRecord | null {
      const row = customer.get(id);
      return row === undefined ? null : toCustomer(row);
    },
    listCustomers: (): CustomerRecord[] => customers.all().map(toCustomer),
    findProject(id: string): ProjectRecord | null {
      const row = project.get(id);
      return row === undefined ? null : toProject(row);
    },
    listProjects: (customerId: string | null): ProjectRecord[] =>
      (customerId === null ? projects.all() : projectsOf.all(customerId)).map(toProject),
    findSession(id: string): SessionRecord | null {
      const row = session.get(id);
      if (row === undefined) return null;
      return { id, project: toProject(row), expiresAt: row[8] as number, revoked: row[9] === 1 };
    },
  };
}

/** Writes of customers, projects and sessions, on the writer's thread. */
export class ProjectWrites {
  readonly #prepare: (sql: string) => Statement;
  readonly #alive: Statement;

  constructor(connection: SqliteConnection) {
    const prepared = new Map<string, Statement>();
    // These are rare, so each is prepared when it is first needed.
    this.#prepare = (sql) => {
      let statement = prepared.get(sql);
      if (statement === undefined) {
        statement = connection.prepare(sql);
        prepared.set(sql, statement);
      }
      return statement;
    };
    this.#alive = connection.prepare('SELECT 1 FROM projects WHERE project_no = ?');
  }

  isAlive(project: ProjectKey): boolean {
    return this.#alive.get(project) !== undefined;
  }

  createCustomer({ id, secret, name, createdAt }: CustomerRecord): boolean {
    const sql =
      'INSERT INTO customers (id, secret, name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING';
    return this.#prepare(sql).run(id, secret, name, createdAt) > 0;
  }

  createProject(project: Parameters<Store['createProject']>[0]): Awaited<ReturnType<Store['createProject']>> {
    const { id, customerId, name, secret, createdAt } = project;
    if (this.#prepare('SELECT 1 FROM customers WHERE id = ?').get(customerId) === undefined)
      return { kind: 'absent' };
    if (this.#prepare('SELECT 1 FROM projects WHERE id = ?').get(id) !== undefined) return { kind: 'exists' };
    const sql = 'INSERT INTO projects (id, customer_id, name, secret, created_at) VALUES (?, ?, ?, ?, ?)';
    const key = this.#prepare(sql).insert(id, customerId, name, secret, createdAt);
    return { kind: 'created', project: { ...project, key, previousSecret: null, previousValidUntil: null } };
  }

  renameProject(project: ProjectKey, name: string): boolean {
    return this.#prepare('UPDATE projects SET name = ? WHERE project_no = ?').run(name, project) > 0;
  }

  rotateSecret(project: ProjectKey, secret: string, previousValidUntil: number): boolean {
    const sql =
      'UPDATE projects SET previous_secret = secret, previous_valid_until = ?, secret = ? WHERE project_no = ?';
    return this.#prepare(sql).run(previousValidUntil, secret, project) > 0;
  }

  /** Ends the project; its data, out of reach from now on, is removed by {@link purge}. */
  deleteProject(project: ProjectKey): boolean {
    if (this.#prepare('DELETE FROM projects WHERE project_no = ?').run(project) === 0) return false;
    this.#prepare('INSERT INTO deleted_projects (project_no) VALUES (?)').run(project);
    return true;
  }

  serviceKey(): Uint8Array {
    const find = this.#prepare(`SELECT value FROM store_secrets WHERE name = 'service_key'`);
    const found = find.get();
    if (found !== undefined) return found[0] as Uint8Array;
    const key = new Uint8Array(randomBytes(SERVICE_KEY_BYTES));
    this.#prepare(`INSERT INTO store_secrets (name, value) VALUES ('service_key', ?)`).run(key);
    return key;
  }

  createSession({ id, project, expiresAt }: { id: string; project: ProjectKey; expiresAt: number }): void {
    this.#prepare('INSERT INTO sessions (id, project_no, expires_at) VALUES (?, ?, ?)').run(
      id,
      project,
      expiresAt,
    );
  }

  revokeSession(id: string): void {
    this.#prepare('UPDATE sessions SET revoked = 1 WHERE id = ?').run(id);
  }

  removeExpiredSessions(now: number): void {
    this.#prepare('DELETE FROM sessions WHERE expires_at < ?').run(now);
  }

  /** Removes a slice of the data of deleted projects. False when nothing is left to remove. */
  purge(): boolean {
    const project = this.#prepare('SELECT project_no FROM deleted_projects LIMIT 1').get()?.[0] as
      | number
      | undefined;
    if (project === undefined) return false;
    const nextGroup = this.#prepare('SELECT group_no FROM groups WHERE project_no = ? LIMIT 1');
    for (let rows = 0; rows < PURGE_ROWS; ) {
      const group = nextGroup.get(project)?.[0] as number | undefined;
      const removed = group === undefined ? this.#purgeUsers(project) : this.#purgeGroup(group);
      if (removed === 0) {
        this.#prepare('DELETE FROM deleted_projects WHERE project_no = ?').run(project);
        break;
      }
      rows += removed;
    }
    return true;
  }

  /** A slice of the group's durable presence, then of its members, and at last the group itself. */
  #purgeGroup(group: number): number {
    return (
      this.#purgePlaces(group) ||
      this.#purgePresence(group) ||
      this.#purgeUsages(group) ||
      this.#purgeMembers(group) ||
      this.#prepare('DELETE FROM groups WHERE group_no = ?').run(group)
    );
  }

  #purgePlaces(group: number): number {
    const key = 'group_no, place_key, user_id, presence_no';
    const some = `SELECT ${key} FROM durable_places WHERE group_no = ? LIMIT ${PURGE_ROWS}`;
    return this.#prepare(`DELETE FROM durable_places WHERE (${key}) IN (${some})`).run(group);
  }

  #purgePresence(group: number): number {
    const some = `SELECT presence_no FROM durable_presence WHERE group_no = ? LIMIT ${PURGE_ROWS}`;
    return this.#prepare(`DELETE FROM durable_presence WHERE presence_no IN (${some})`).run(group);
  }

  #purgeUsages(group: number): number {
    const some = `SELECT user_id FROM durable_usage WHERE group_no = ?1 LIMIT ${PURGE_ROWS}`;
    return this.#prepare(`DELETE FROM durable_usage WHERE group_no = ?1 AND user_id IN (${some})`).run(group);
  }

  #purgeMembers(group: number): number {
    const some = `FROM memberships WHERE group_no = ?1 LIMIT ${PURGE_ROWS}`;
    this.#prepare(`DELETE FROM user_groups WHERE (user_no, group_id) IN (
      SELECT user_no, (SELECT id FROM groups WHERE group_no = ?1) ${some})`).run(group);
    const members = `DELETE FROM memberships WHERE group_no = ?1 AND user_id IN (SELECT user_id ${some})`;
    return this.#prepare(members).run(group);
  }

  #purgeUsers(project: number): number {
    const sql = `DELETE FROM users WHERE user_no IN (SELECT user_no FROM users WHERE project_no = ? LIMIT ${PURGE_ROWS})`;
    return this.#prepare(sql).run(project);
  }
}
