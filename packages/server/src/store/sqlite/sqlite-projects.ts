import type { ProjectKey } from '../../values/project-key.ts';
import { type Absent, UNCHANGED, type Updated } from '../outcomes.ts';
import type {
  CreateProjectOutcome,
  CustomerRecord,
  NewProject,
  NewSecret,
  ProjectRecord,
} from '../ports/projects.ts';
import type { WriteContext } from '../write-context.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { SqliteReader } from './sqlite-reader.ts';

const CUSTOMER = 'id, secret, name, created_at';
type CustomerRow = [id: string, secret: string, name: string, createdAt: number];
/** The columns of a project `p`, a {@link ProjectRow}. */
export const PROJECT = `p.project_no, p.id, p.customer_id, p.name, p.secret, p.previous_secret, p.previous_valid_until, p.created_at`;
export type ProjectRow = [
  key: number,
  id: string,
  customerId: string,
  name: string,
  secret: string,
  previousSecret: string | null,
  previousValidUntil: number | null,
  createdAt: number,
];

export function toProject(row: readonly [...ProjectRow, ...unknown[]]): ProjectRecord {
  const [key, id, customerId, name, secret, previousSecret, previousValidUntil, createdAt] = row;
  return { key, id, customerId, name, secret, previousSecret, previousValidUntil, createdAt };
}

const toCustomer = ([id, secret, name, createdAt]: CustomerRow): CustomerRecord => ({
  id,
  secret,
  name,
  createdAt,
});

/** Reads of customers, on the main thread. */
export function customerReads({ prepare }: SqliteReader) {
  const find = prepare<CustomerRow>(`SELECT ${CUSTOMER} FROM customers WHERE id = ?`);
  const list = prepare<CustomerRow>(`SELECT ${CUSTOMER} FROM customers ORDER BY id`);
  return {
    async find(id: string): Promise<CustomerRecord | null> {
      const row = find.get(id);
      return row === undefined ? null : toCustomer(row);
    },
    list: async (): Promise<CustomerRecord[]> => list.all().map(toCustomer),
  };
}

/** Reads of projects, on the main thread. */
export function projectReads({ prepare }: SqliteReader) {
  const find = prepare<ProjectRow>(`SELECT ${PROJECT} FROM projects p WHERE p.id = ?`);
  const list = prepare<ProjectRow>(`SELECT ${PROJECT} FROM projects p ORDER BY p.id`);
  const listOf = prepare<ProjectRow>(
    `SELECT ${PROJECT} FROM projects p WHERE p.customer_id = ? ORDER BY p.id`,
  );
  return {
    async find(id: string): Promise<ProjectRecord | null> {
      const row = find.get(id);
      return row === undefined ? null : toProject(row);
    },
    list: async (customerId: string | null): Promise<ProjectRecord[]> =>
      (customerId === null ? list.all() : listOf.all(customerId)).map(toProject),
  };
}

/** Writes of customers, on the writer's thread. */
export class CustomerWrites {
  readonly #insert;

  constructor({ prepare }: SqliteConnection) {
    this.#insert = prepare(
      'INSERT INTO customers (id, secret, name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
  }

  create({ id, secret, name, createdAt }: CustomerRecord): boolean {
    return this.#insert.run(id, secret, name, createdAt) > 0;
  }
}

/** Writes of projects, on the writer's thread. */
export class ProjectWrites {
  readonly #statements;

  constructor({ prepare }: SqliteConnection) {
    this.#statements = {
      findCustomer: prepare('SELECT 1 FROM customers WHERE id = ?'),
      findId: prepare('SELECT 1 FROM projects WHERE id = ?'),
      insert: prepare(
        'INSERT INTO projects (id, customer_id, name, secret, created_at) VALUES (?, ?, ?, ?, ?)',
      ),
      findName: prepare<[name: string]>('SELECT name FROM projects WHERE project_no = ?'),
      rename: prepare('UPDATE projects SET name = ? WHERE project_no = ?'),
      rotate: prepare(`
        UPDATE projects SET previous_secret = secret, previous_valid_until = ?, secret = ? WHERE project_no = ?`),
      delete: prepare('DELETE FROM projects WHERE project_no = ?'),
      insertDeleted: prepare('INSERT INTO deleted_projects (project_no) VALUES (?)'),
    };
  }

  create(project: NewProject): CreateProjectOutcome {
    const { id, customerId, name, secret, createdAt } = project;
    if (this.#statements.findCustomer.get(customerId) === undefined) return { kind: 'absent' };
    if (this.#statements.findId.get(id) !== undefined) return { kind: 'exists' };
    const key = this.#statements.insert.insert(id, customerId, name, secret, createdAt);
    return { kind: 'created', project: { ...project, key, previousSecret: null, previousValidUntil: null } };
  }

  rename(project: ProjectKey, name: string, _context: WriteContext): Updated | Absent {
    const before = this.#statements.findName.get(project)?.[0];
    if (before === undefined) return { kind: 'absent' };
    if (before === name) return UNCHANGED;
    this.#statements.rename.run(name, project);
    return { kind: 'updated', changes: [{ type: 'project.renamed' }] };
  }

  rotateSecret(project: ProjectKey, next: NewSecret, _context: WriteContext): Updated | Absent {
    if (this.#statements.rotate.run(next.previousValidUntil, next.secret, project) === 0)
      return { kind: 'absent' };
    return { kind: 'updated', changes: [{ type: 'project.secret_rotated' }] };
  }

  /** Ends the project; `Purge` removes its data, which no read returns any more. */
  delete(project: ProjectKey): boolean {
    if (this.#statements.delete.run(project) === 0) return false;
    this.#statements.insertDeleted.run(project);
    return true;
  }
}
