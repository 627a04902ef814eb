import { randomBytes, randomUUID } from 'node:crypto';
import type { CustomerRecord, ProjectKey, ProjectRecord, SessionRecord, Store } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { Attempt, PostgresDatabase } from './connections/postgres-database.ts';
import { idsOf } from './postgres-outcomes.ts';
import { textArray } from './postgres-text.ts';

const PROJECT = `p.project_id, p.id, p.customer_id, p.name, p.secret, p.previous_secret, p.previous_valid_until, p.created_at`;
const CUSTOMER = 'id, secret, name, created_at';
const SERVICE_KEY_BYTES = 64;

const FIND_CUSTOMER = `SELECT ${CUSTOMER} FROM customers WHERE id = $1`;
const LIST_CUSTOMERS = `SELECT ${CUSTOMER} FROM customers ORDER BY id`;
const FIND_PROJECT = `SELECT ${PROJECT} FROM projects p WHERE p.id = $1`;
const LIST_PROJECTS = `SELECT ${PROJECT} FROM projects p ORDER BY p.id`;
const LIST_PROJECTS_OF_CUSTOMER = `SELECT ${PROJECT} FROM projects p WHERE p.customer_id = $1 ORDER BY p.id`;
const FIND_SESSION = `
  SELECT ${PROJECT}, s.expires_at, s.revoked FROM sessions s JOIN projects p ON p.project_id = s.project_id
  WHERE s.id = $1`;

function toProject(row: Row): ProjectRecord {
  return {
    key: row[0] as string,
    id: row[1] as string,
    customerId: row[2] as string,
    name: row[3] as string,
    secret: row[4] as string,
    previousSecret: row[5] as string | null,
    previousValidUntil: row[6] as number | null,
    createdAt: row[7] as number,
  };
}

function toCustomer([id, secret, name, createdAt]: Row): CustomerRecord {
  return {
    id: id as string,
    secret: secret as string,
    name: name as string,
    createdAt: createdAt as number,
  };
}

/** Reads of customers, projects and sessions. */
export function projectReads(database: PostgresDatabase) {
  return {
    async findCustomer(id: string): Promise<CustomerRecord | null> {
      const [row] = await database.read(FIND_CUSTOMER, id);
      return row === undefined ? null : toCustomer(row);
    },
    async listCustomers(): Promise<CustomerRecord[]> {
      return (await database.read(LIST_CUSTOMERS)).map(toCustomer);
    },
    async findProject(id: string): Promise<ProjectRecord | null> {
      const [row] = await database.read(FIND_PROJECT, id);
      return row === undefined ? null : toProject(row);
    },
    async listProjects(customerId: string | null): Promise<ProjectRecord[]> {
      const rows =
        customerId === null
          ? await database.read(LIST_PROJECTS)
          : await database.read(LIST_PROJECTS_OF_CUSTOMER, customerId);
      return rows.map(toProject);
    },
    async findSession(id: string): Promise<SessionRecord | null> {
      const [row] = await database.read(FIND_SESSION, id);
      if (row === undefined) return null;
      return { id, project: toProject(row), expiresAt: row[8] as number, revoked: row[9] as boolean };
    },
  };
}

const INSERT_CUSTOMER = `
  INSERT INTO customers (id, secret, name, created_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO NOTHING RETURNING 1`;

const INSERT_PROJECT = `
  WITH made AS (
    INSERT INTO projects (project_id, id, customer_id, name, secret, created_at)
    SELECT $1, $2, $3, $4, $5, $6 WHERE EXISTS (SELECT 1 FROM customers WHERE id = $3)
    ON CONFLICT (id) DO NOTHING RETURNING 1)
  SELECT EXISTS (SELECT 1 FROM customers WHERE id = $3), EXISTS (SELECT 1 FROM made)`;

const RENAME_PROJECT = 'UPDATE projects SET name = $2 WHERE project_id = $1 RETURNING 1';
const ROTATE_SECRET = `
  UPDATE projects SET previous_secret = secret, previous_valid_until = $3, secret = $2
  WHERE project_id = $1 RETURNING 1`;

/** Ends the project; its data, out of reach from now on, is removed slice by slice. */
const DELETE_PROJECT = `
  WITH gone AS (DELETE FROM projects WHERE project_id = $1 RETURNING project_id),
  noted AS (INSERT INTO deleted_projects (project_id) SELECT project_id FROM gone)
  SELECT 1 FROM gone`;

const FIND_SERVICE_KEY = `SELECT value FROM store_secrets WHERE name = 'service_key'`;
const INSERT_SERVICE_KEY = `
  INSERT INTO store_secrets (name, value) VALUES ('service_key', $1) ON CONFLICT (name) DO NOTHING`;

const INSERT_SESSION = 'INSERT INTO sessions (id, project_id, expires_at) VALUES ($1, $2, $3)';
const REVOKE_SESSION = 'UPDATE sessions SET revoked = TRUE WHERE id = $1';

/** Sessions that are looked at, and removed, at once: the same work each time, however many have ended. */
const SESSIONS_AT_ONCE = 1_000;
// No upper bound, though only those that ended are wanted: a planner without fresh statistics takes a range with two for a
// few rows, and sorts all that have ended for each slice.
const NEXT_TO_END = `
  SELECT id, expires_at FROM sessions WHERE expires_at >= $1 ORDER BY expires_at LIMIT ${SESSIONS_AT_ONCE}`;
/** Those that another process is removing are left to it, so that nobody waits. */
const HOLD_SESSIONS = 'SELECT id FROM sessions WHERE id = ANY($1::text[]) FOR UPDATE SKIP LOCKED';
const REMOVE_SESSIONS = 'DELETE FROM sessions WHERE id = ANY($1::text[])';

/** Writes of customers, projects and sessions, one statement each; ended sessions are removed slice by slice. */
export function projectWrites(database: PostgresDatabase) {
  const wrote = (sql: string, ...parameters: unknown[]) =>
    database.operation(async (attempt) => (await attempt.run(sql, ...parameters)).length > 0);
  return {
    createCustomer: ({ id, secret, name, createdAt }: CustomerRecord) =>
      wrote(INSERT_CUSTOMER, id, secret, name, createdAt),
    createProject: (project: NewProject) => database.operation((attempt) => createProject(attempt, project)),
    renameProject: (project: ProjectKey, name: string) => wrote(RENAME_PROJECT, project, name),
    rotateSecret: (project: ProjectKey, secret: string, previousValidUntil: number) =>
      wrote(ROTATE_SECRET, project, secret, previousValidUntil),
    deleteProject: (project: ProjectKey) => wrote(DELETE_PROJECT, project),
    serviceKey: () => database.operation(serviceKey),
    async createSession({ id, project, expiresAt }: { id: string; project: ProjectKey; expiresAt: number }) {
      await wrote(INSERT_SESSION, id, project, expiresAt);
    },
    async revokeSession(id: string) {
      await wrote(REVOKE_SESSION, id);
    },
    removeExpiredSessions: (now: number) => removeEndedSessions(database, now),
  };
}

/** Slice by slice, in the order of their ends: what lies before a slice is gone, and is not stepped over again. */
async function removeEndedSessions(database: PostgresDatabase, now: number): Promise<void> {
  for (let from = 0; ; ) {
    const next = (await database.read(NEXT_TO_END, from)) as [id: string, expiresAt: number][];
    const ended = next.filter(([, expiresAt]) => expiresAt < now);
    const last = ended.at(-1);
    if (last === undefined) return;
    const ids = ended.map(([id]) => id);
    const removed = await database.operation((attempt) => removeSessions(attempt, ids));
    // Where none was left, others are at it, and go on.
    if (ended.length < SESSIONS_AT_ONCE || removed === 0) return;
    [, from] = last;
  }
}

/** How many of them were removed. */
function removeSessions(attempt: Attempt, ids: readonly string[]): Promise<number> {
  return attempt.transaction('small', async (transaction) => {
    const [held] = await transaction.run([HOLD_SESSIONS, textArray(ids)]);
    if (held.length > 0) await transaction.commit([REMOVE_SESSIONS, textArray(idsOf(held))]);
    return held.length;
  });
}

type NewProject = Parameters<Store['createProject']>[0];

async function createProject(
  attempt: Attempt,
  project: NewProject,
): Promise<Awaited<ReturnType<Store['createProject']>>> {
  const { id, customerId, name, secret, createdAt } = project;
  const key = randomUUID();
  const [row] = await attempt.run(INSERT_PROJECT, key, id, customerId, name, secret, createdAt);
  const [customer, made] = row as Row;
  if (customer !== true) return { kind: 'absent' };
  if (made !== true) return { kind: 'exists' };
  return { kind: 'created', project: { ...project, key, previousSecret: null, previousValidUntil: null } };
}

async function serviceKey(attempt: Attempt): Promise<Uint8Array> {
  const [found] = await attempt.run(FIND_SERVICE_KEY);
  if (found !== undefined) return new Uint8Array(found[0] as Buffer);
  await attempt.run(INSERT_SERVICE_KEY, randomBytes(SERVICE_KEY_BYTES));
  return serviceKey(attempt);
}
