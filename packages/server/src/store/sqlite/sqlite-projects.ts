import { CUSTOMER, projectColumns } from '../account-columns.ts';
import { UNCHANGED } from '../outcomes.ts';
import type { NewProject } from '../ports/projects.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import type { Reads, Writes } from './sqlite-methods.ts';
import type { SqliteReader } from './sqlite-reader.ts';

/** The columns of a project `p`. */
export const PROJECT = projectColumns('p.project_no');

export function customerReads({ prepare }: SqliteReader): Reads<'customers'> {
  const find = prepare(`SELECT ${CUSTOMER.sql} FROM customers WHERE id = ?`);
  const list = prepare(`SELECT ${CUSTOMER.sql} FROM customers ORDER BY id`);
  return {
    find: async (id) => CUSTOMER.toFound(find.get(id)),
    list: async () => list.all().map(CUSTOMER.toRecord),
  };
}

export function projectReads({ prepare }: SqliteReader): Reads<'projects'> {
  const find = prepare(`SELECT ${PROJECT.sql} FROM projects p WHERE p.id = ?`);
  const list = prepare(`SELECT ${PROJECT.sql} FROM projects p ORDER BY p.id`);
  const listOf = prepare(`SELECT ${PROJECT.sql} FROM projects p WHERE p.customer_id = ? ORDER BY p.id`);
  return {
    find: async (id) => PROJECT.toFound(find.get(id)),
    list: async (customerId) =>
      (customerId === null ? list.all() : listOf.all(customerId)).map(PROJECT.toRecord),
  };
}

const INSERT_PROJECT =
  'INSERT INTO projects (id, customer_id, name, secret, created_at) VALUES (?, ?, ?, ?, ?)';

export function customerWrites({ prepare }: SqliteConnection): Writes<'customers'> {
  const insert = prepare(
    'INSERT INTO customers (id, secret, name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const insertProject = prepare(INSERT_PROJECT);
  return {
    create(customer, project) {
      const isCreated = insert.run(...CUSTOMER.toRow(customer)) > 0;
      if (isCreated && project !== undefined) insertProject.run(...projectRow(project));
      return isCreated;
    },
  };
}

const projectRow = ({ id, customerId, name, secret, createdAt }: NewProject) =>
  [id, customerId, name, secret, createdAt] as const;

export function projectWrites({ prepare }: SqliteConnection): Writes<'projects'> {
  const findCustomer = prepare('SELECT 1 FROM customers WHERE id = ?');
  const findId = prepare('SELECT 1 FROM projects WHERE id = ?');
  const insert = prepare(INSERT_PROJECT);
  const findName = prepare<[name: string]>('SELECT name FROM projects WHERE project_no = ?');
  const rename = prepare('UPDATE projects SET name = ? WHERE project_no = ?');
  const rotate = prepare(`
    UPDATE projects SET previous_secret = iif(?1 > ?2, secret, NULL), previous_valid_until = iif(?1 > ?2, ?1, NULL),
      secret = ?3 WHERE project_no = ?4`);
  const remove = prepare('DELETE FROM projects WHERE project_no = ?');
  const insertDeleted = prepare('INSERT INTO deleted_projects (project_no) VALUES (?)');
  return {
    create(project) {
      if (findCustomer.get(project.customerId) === undefined) return { kind: 'absent' };
      if (findId.get(project.id) !== undefined) return { kind: 'exists' };
      const key = insert.insert(...projectRow(project));
      return {
        kind: 'created',
        project: { ...project, key, previousSecret: null, previousValidUntil: null },
      };
    },
    rename(project, name) {
      const before = findName.get(project)?.[0];
      if (before === undefined) return { kind: 'absent' };
      if (before === name) return UNCHANGED;
      rename.run(name, project);
      return { kind: 'updated', changes: [{ type: 'project.renamed' }] };
    },
    rotateSecret(project, { secret, previousValidUntil }, { now }) {
      if (rotate.run(previousValidUntil, now, secret, project) === 0) return { kind: 'absent' };
      return { kind: 'updated', changes: [{ type: 'project.secret_rotated' }] };
    },
    /** Ends the project; `Purge` removes its data, which no read returns any more. */
    delete(project) {
      if (remove.run(project) === 0) return false;
      insertDeleted.run(project);
      return true;
    },
  };
}
