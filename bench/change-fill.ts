/** How a store gets recorded changes before they are read: by SQL, as writes of one user each leave them. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { STORE_FILE } from '../packages/server/src/store/sqlite/sqlite-store.ts';
import { PROJECT } from './credentials.ts';
import { rowsOf } from './scale-out-servers.ts';

/** Recent: the start of a server removes what is older than its setting. */
const AT = Date.now() - 86_400_000;
/** What a write of a name leaves, with a request ID of the server's own. */
const CHANGES = `'[{"type":"user.updated","user":"user-' || (position % 100000) || '","fields":["name"]}]'`;
const COLUMNS = `at, actor, request_id, changes`;
const VALUES = `${AT} + position, 'project_token:${PROJECT.id}', '0b8f7c1e-5d1a-4c7e-9a53-' || position, ${CHANGES}`;

/** Fills the store of a stopped server. */
export function fillSqliteChanges(dataDirectory: string, count: number): void {
  const database = new DatabaseSync(join(dataDirectory, STORE_FILE));
  database
    .prepare(`
      WITH RECURSIVE n (position) AS (SELECT 1 UNION ALL SELECT position + 1 FROM n WHERE position < ?)
      INSERT INTO changes (project_no, position, ${COLUMNS})
      SELECT (SELECT project_no FROM projects), position, ${VALUES} FROM n`)
    .run(count);
  database.close();
}

/** Fills a database, in the order that a pass gives. */
export async function fillPostgresChanges(databaseUrl: string, count: number): Promise<void> {
  const project = '(SELECT project_id FROM projects)';
  await rowsOf(
    databaseUrl,
    `INSERT INTO changes (project_id, position, ${COLUMNS})
     SELECT ${project}, position, ${VALUES} FROM generate_series(1, ${count}) AS n(position)`,
  );
  await rowsOf(databaseUrl, `INSERT INTO change_heads (project_id, position) SELECT ${project}, ${count}`);
  await rowsOf(databaseUrl, 'VACUUM ANALYZE changes');
}
