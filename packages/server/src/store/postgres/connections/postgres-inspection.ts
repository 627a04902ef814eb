import { latestSchemaVersion, schemaVersion } from '../postgres-migrate.ts';
import { PostgresConnection } from './postgres-connection.ts';
import { parsePostgresUrl } from './postgres-url.ts';

/** How long the inspection may take, in milliseconds. */
const LIMIT_MS = 30_000;

export interface PostgresInspection {
  readonly schemaVersion: number;
  readonly latestSchemaVersion: number;
  /** Tables that should be there and are not, indexes that PostgreSQL holds for invalid; empty when nothing. */
  readonly damages: readonly string[];
}

const TABLES = [
  ...['store_secrets', 'customers', 'projects', 'deleted_projects', 'sessions', 'users', 'user_counts'],
  ...['groups', 'memberships', 'durable_presence', 'durable_pairs'],
];

const MISSING = `
  SELECT t.name FROM unnest($1::text[]) AS t(name) WHERE to_regclass(t.name) IS NULL ORDER BY t.name`;
const INVALID = `
  SELECT i.indexrelid::regclass::text FROM pg_index i
  WHERE NOT i.indisvalid AND i.indrelid IN (SELECT to_regclass(t.name)::oid FROM unnest($1::text[]) AS t(name))`;

/** Looks at a store without changing anything. @throws StoreUnavailableError when it cannot be reached */
export async function inspectPostgresStore(url: string): Promise<PostgresInspection> {
  const until = performance.now() + LIMIT_MS;
  const connection = await PostgresConnection.open(parsePostgresUrl(url));
  try {
    const version = await schemaVersion(connection, until);
    return {
      schemaVersion: version,
      latestSchemaVersion: latestSchemaVersion(),
      damages: version === 0 ? [] : await damagesOf(connection, until),
    };
  } finally {
    await connection.close();
  }
}

async function damagesOf(connection: PostgresConnection, until: number): Promise<string[]> {
  const tables = `{${TABLES.join(',')}}`;
  const missing = await connection.run([MISSING, tables], until);
  const invalid = await connection.run([INVALID, tables], until);
  return [
    ...missing.map(([name]) => `table ${name} is missing`),
    ...invalid.map(([name]) => `index ${name} is invalid`),
  ];
}
