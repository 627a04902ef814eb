import type { PostgresConnection } from './connections/postgres-connection.ts';

/** The encoding that has all characters. In another one, each request with a text that it lacks would fail. */
const ENCODING = 'UTF8';

/** How the encoding of a database is read. */
export const SERVER_ENCODING = "current_setting('server_encoding')";

/** What is wrong with the encoding of a database, and the advice; null where it has all characters. */
export function encodingConcern(encoding: string): { found: string; advice: string } | null {
  if (encoding === ENCODING) return null;
  return {
    found: `the database has the encoding ${encoding}, which cannot store all texts`,
    advice: `Use a database that was created with ENCODING '${ENCODING}' TEMPLATE template0; "rollcall migrate-store" copies a store.`,
  };
}

/** @throws Error in one line unless the database can store all texts */
export async function requireEncoding(connection: PostgresConnection, until: number): Promise<void> {
  const [row] = await connection.run([`SELECT ${SERVER_ENCODING}`], until);
  const concern = encodingConcern(String(row?.[0]));
  if (concern !== null) throw new Error(`${concern.found}. ${concern.advice}`);
}
