import type { PostgresConnection } from './connections/postgres-connection.ts';

/** The encoding that has all characters. In another one, each request with a text that it lacks would fail. */
const ENCODING = 'UTF8';

/** How the encoding of a database is read. */
export const SERVER_ENCODING = "current_setting('server_encoding')";

const CREATE = `ENCODING '${ENCODING}' TEMPLATE template0`;

/** What is wrong with the encoding of a database that has a store, and the advice; null where it has all characters. */
export function encodingConcern(encoding: string): { found: string; advice: string } | null {
  if (encoding === ENCODING) return null;
  return {
    found: `the database has the encoding ${encoding}, which does not support all texts`,
    advice: `Create a database with ${CREATE}, and copy the store with "rollcall migrate-store".`,
  };
}

/** @throws Error in one line unless the database supports all texts */
export async function requireEncoding(connection: PostgresConnection, until: number): Promise<void> {
  const [row] = await connection.run([`SELECT ${SERVER_ENCODING}`], until);
  const concern = encodingConcern(String(row?.[0]));
  if (concern !== null) throw new Error(`${concern.found}: create it with ${CREATE}`);
}
