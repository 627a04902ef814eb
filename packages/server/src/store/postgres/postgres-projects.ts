import { randomUUID } from 'node:crypto';
import { CUSTOMER, projectColumns } from '../account-columns.ts';
import { type Absent, UNCHANGED, type Updated } from '../outcomes.ts';
import type { CustomerStore, ProjectStore } from '../ports/projects.ts';
import type { WriteContext } from '../write-context.ts';
import type { Call, Row } from './connections/postgres-connection.ts';
import { originOf, recorded, textOfChanges } from './postgres-changes.ts';
import type { PostgresEngine } from './postgres-engine.ts';

/** The columns of a project `p`. */
export const PROJECT = projectColumns('p.project_id');

const FIND_CUSTOMER = `SELECT ${CUSTOMER.sql} FROM customers WHERE id = $1`;
const LIST_CUSTOMERS = `SELECT ${CUSTOMER.sql} FROM customers ORDER BY id`;
const INSERT_CUSTOMER = `
  INSERT INTO customers (id, secret, name, created_at) VALUES ($1, $2, $3, $4)
  ON CONFLICT (id) DO NOTHING RETURNING 1`;
const FIND_PROJECT = `SELECT ${PROJECT.sql} FROM projects p WHERE p.id = $1`;
const LIST_PROJECTS = `SELECT ${PROJECT.sql} FROM projects p ORDER BY p.id`;
const LIST_PROJECTS_OF_CUSTOMER = `SELECT ${PROJECT.sql} FROM projects p WHERE p.customer_id = $1 ORDER BY p.id`;

/** With a first project, of which $5 to $7 are the key, the ID and the secret, and $8 the name. */
const INSERT_CUSTOMER_WITH_PROJECT = `
  WITH customer AS (${INSERT_CUSTOMER}),
  project AS (
    INSERT INTO projects (project_id, id, customer_id, name, secret, created_at)
    SELECT $5, $6, $1, $8, $7, $4 FROM customer)
  SELECT 1 FROM customer`;

export function customerStore({ database }: PostgresEngine): CustomerStore {
  return {
    create(customer, project) {
      const row = CUSTOMER.toRow(customer);
      if (project === undefined) return database.changesRows(INSERT_CUSTOMER, ...row);
      const { id, secret, name } = project;
      return database.changesRows(INSERT_CUSTOMER_WITH_PROJECT, ...row, randomUUID(), id, secret, name);
    },
    find: (id) => database.readOne(CUSTOMER.toRecord, FIND_CUSTOMER, id),
    list: async () => (await database.read(LIST_CUSTOMERS)).map(CUSTOMER.toRecord),
  };
}

const INSERT_PROJECT = `
  WITH made AS (
    INSERT INTO projects (project_id, id, customer_id, name, secret, created_at)
    SELECT $1, $2, $3, $4, $5, $6 WHERE EXISTS (SELECT 1 FROM customers WHERE id = $3)
    ON CONFLICT (id) DO NOTHING RETURNING 1)
  SELECT EXISTS (SELECT 1 FROM customers WHERE id = $3), EXISTS (SELECT 1 FROM made)`;
const RENAME_PROJECT = `
  WITH before AS (SELECT name FROM projects WHERE project_id = $1 FOR NO KEY UPDATE),
  changed AS (
    UPDATE projects p SET name = $2 FROM before WHERE p.project_id = $1 AND before.name <> $2 RETURNING 1),
  ${recorded('SELECT $6::text FROM changed', 3)}
  SELECT EXISTS (SELECT 1 FROM before), EXISTS (SELECT 1 FROM changed)`;
const ROTATE_SECRET = `
  WITH changed AS (
    UPDATE projects SET secret = $2, previous_secret = CASE WHEN $7::bigint > $3::bigint THEN secret END,
      previous_valid_until = CASE WHEN $7::bigint > $3::bigint THEN $7::bigint END
    WHERE project_id = $1 RETURNING 1),
  ${recorded('SELECT $6::text FROM changed', 3)}
  SELECT EXISTS (SELECT 1 FROM changed), TRUE`;

/** Ends the project; its data, out of reach from now on, is removed slice by slice. */
const DELETE_PROJECT = `
  WITH gone AS (DELETE FROM projects WHERE project_id = $1 RETURNING project_id),
  noted AS (INSERT INTO deleted_projects (project_id) SELECT project_id FROM gone)
  SELECT 1 FROM gone`;

export function projectStore({ database, purge }: PostgresEngine): ProjectStore {
  /** Runs a statement that answers whether the project is there, and whether it was changed. */
  const update = async (
    type: 'project.renamed' | 'project.secret_rotated',
    call: Call,
    context: WriteContext,
    ...more: unknown[]
  ): Promise<Updated | Absent> => {
    const changes = [{ type }] as const;
    const parameters = [...call, ...originOf(context), textOfChanges(changes), ...more] as const;
    const [[isThere, isChanged]] = (await database.write(...parameters)) as [Row];
    if (isThere !== true) return { kind: 'absent' };
    return isChanged === true ? { kind: 'updated', changes } : UNCHANGED;
  };
  return {
    async create(project) {
      const { id, customerId, name, secret, createdAt } = project;
      const key = randomUUID();
      const call: Call = [INSERT_PROJECT, key, id, customerId, name, secret, createdAt];
      const [[customer, isCreated]] = (await database.write(...call)) as [Row];
      if (customer !== true) return { kind: 'absent' };
      if (isCreated !== true) return { kind: 'exists' };
      return {
        kind: 'created',
        project: { ...project, key, previousSecret: null, previousValidUntil: null },
      };
    },
    find: (id) => database.readOne(PROJECT.toRecord, FIND_PROJECT, id),
    async list(customerId) {
      const call: Call = customerId === null ? [LIST_PROJECTS] : [LIST_PROJECTS_OF_CUSTOMER, customerId];
      return (await database.read(...call)).map(PROJECT.toRecord);
    },
    rename: (project, name, context) => update('project.renamed', [RENAME_PROJECT, project, name], context),
    rotateSecret: (project, { secret, previousValidUntil }, context) =>
      update('project.secret_rotated', [ROTATE_SECRET, project, secret], context, previousValidUntil),
    async delete(project) {
      const isDeleted = await database.changesRows(DELETE_PROJECT, project);
      if (isDeleted) purge.start();
      return isDeleted;
    },
  };
}
