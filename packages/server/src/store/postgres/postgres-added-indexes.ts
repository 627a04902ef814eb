import type { PostgresConnection } from './connections/postgres-connection.ts';

/**
 * An index on a table of an earlier migration, and on columns of one: `IF NOT EXISTS` marks it. Built in the transaction of its migration,
 * it would lock the table for as long as that takes, some seconds for each million rows.
 */
const ADDED_INDEX = /^CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+) ON (\w+)[^;]*/gm;

const IS_THERE = 'SELECT to_regclass($1) IS NOT NULL';
const IS_INVALID = 'SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid';

/**
 * Builds the indexes that a migration adds to tables that are there, while other processes read and write the tables. An index that is
 * there is left as it is, so the migration finds it, and so does a process that comes later.
 * @param lockLimitMs how long a lock of another process is awaited
 * @throws DatabaseError 55P03 or 40P01 when another process builds an index of the table: to be tried again
 */
export async function buildAddedIndexes(
  connection: PostgresConnection,
  sql: string,
  lockLimitMs: number,
  until: number,
): Promise<void> {
  for (const [statement, index = '', table = ''] of sql.matchAll(ADDED_INDEX)) {
    const [isThere] = await connection.run([IS_THERE, table], until);
    if (isThere?.[0] !== true) continue;
    const drop = () => dropInvalid(connection, { index, table, lockLimitMs }, until);
    await drop();
    // The sessions of a pooler have the limits of the server, which has none by default.
    if (connection.isSession) await connection.control('SET statement_timeout = 0', until);
    try {
      await connection.control(statement.replace('INDEX', 'INDEX CONCURRENTLY'), until);
    } catch (error) {
      // Where the disk is full, what was built takes the space of the writes of other processes.
      await drop().catch(() => {});
      throw error;
    }
  }
}

/** Removes what is left of an index whose build has failed, or whose process has ended. */
async function dropInvalid(
  connection: PostgresConnection,
  { index, table, lockLimitMs }: { index: string; table: string; lockLimitMs: number },
  until: number,
): Promise<void> {
  await connection.begin('READ COMMITTED', [['lock_timeout', lockLimitMs]], until);
  try {
    // A process has this lock while it builds an index of the table.
    await connection.control(`LOCK TABLE ${table} IN SHARE UPDATE EXCLUSIVE MODE`, until);
    const invalid = await connection.run([IS_INVALID, index], until);
    if (invalid.length > 0) await connection.control(`DROP INDEX ${index}`, until);
    await connection.end('COMMIT', until);
  } catch (error) {
    await connection.end('ROLLBACK', until).catch(() => {});
    throw error;
  }
}
