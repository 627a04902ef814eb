import { PostgresConnection } from './connections/postgres-connection.ts';
import { type PostgresSettings, parsePostgresUrl } from './connections/postgres-url.ts';
import { encodingConcern, SERVER_ENCODING } from './postgres-encoding.ts';
import { latestSchemaVersion, schemaVersion, tables } from './postgres-migrate.ts';

/** How long the inspection of a store may take, in milliseconds. */
const STORE_LIMIT_MS = 30_000;
/** How long the server may take to answer, in milliseconds. */
const ANSWER_LIMIT_MS = 5_000;

const MISSING = `
  SELECT t.name FROM unnest($1::text[]) AS t(name) WHERE to_regclass(t.name) IS NULL ORDER BY t.name`;
const INVALID = `
  SELECT i.indexrelid::regclass::text FROM pg_index i
  WHERE NOT i.indisvalid AND i.indrelid IN (SELECT to_regclass(t.name)::oid FROM unnest($1::text[]) AS t(name))`;
const STATE = `
  SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp()) * 1000,
         coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
         ${SERVER_ENCODING}, current_setting('default_transaction_read_only')`;

/** As a role or a database can be set, which providers do where the disk is nearly full. */
const READ_ONLY = {
  found: 'its transactions are read-only, so writes are answered 503',
  advice:
    'See what set default_transaction_read_only, perhaps the provider because the disk is full, and set it off (ALTER ROLE, ALTER DATABASE, ALTER SYSTEM).',
};

/** Reads the state of a store: its schema, and which tables and indexes are damaged. @throws StoreUnavailableError */
export async function inspectPostgresStore(url: string) {
  const until = performance.now() + STORE_LIMIT_MS;
  await using connection = await PostgresConnection.open(parsePostgresUrl(url));
  const version = await schemaVersion(connection, until);
  const damages: string[] = [];
  if (version > 0) {
    const names = `{${tables().join(',')}}`;
    for (const [name] of await connection.run([MISSING, names], until))
      damages.push(`table ${name} is missing`);
    for (const [name] of await connection.run([INVALID, names], until))
      damages.push(`index ${name} is invalid`);
  }
  return { schemaVersion: version, latestSchemaVersion: latestSchemaVersion(), damages };
}

const addressOf = ({ hosts, database = '' }: PostgresSettings) =>
  `${hosts.map(({ host, port }) => `${host}:${port}`).join()}/${database}`;

/** Reads the state of a database server. @throws StoreUnavailableError */
export async function inspectPostgresServer(url: string) {
  const settings = parsePostgresUrl(url);
  await using connection = await PostgresConnection.open(settings);
  const sentAt = Date.now();
  const [row = []] = await connection.run([STATE], performance.now() + ANSWER_LIMIT_MS);
  const [version, clock, encrypted, encoding, readOnly] = row;
  return {
    address: addressOf(settings),
    version: String(version).replace(/ .*$/, ''),
    encrypted: encrypted === true,
    aheadMs: Number(clock) - (sentAt + Date.now()) / 2,
    concern: encodingConcern(String(encoding)) ?? (readOnly === 'on' ? READ_ONLY : null),
  };
}
