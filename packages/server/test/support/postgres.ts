/** The shared PostgreSQL of the tests. Each test gets a database on it, which is dropped afterwards. */
import process from 'node:process';
import pg from 'pg';
import { isRequired } from './programs.ts';
import { postgresUrl } from './servers.ts';

const CONNECT_LIMIT_MS = 30_000;
/** The prefix of the databases of {@link withDatabase}. Their names contain the ID of the process. */
const OWNED = 'rollcall_own_test';

let made = 0;

/** Why tests on PostgreSQL are skipped here, or false when they are not: where it is required, its absence fails them. */
export const skipsPostgres: string | false = await skipReason();

async function skipReason(): Promise<string | false> {
  try {
    await withAdmin(removeAbandoned);
    return false;
  } catch (error) {
    if (isRequired('postgres')) throw error;
    const { message, code } = error as Error & { code?: string };
    const reason = `no PostgreSQL answers (${message || code})`;
    console.log(`tests on PostgreSQL are skipped: ${reason}`);
    return reason;
  }
}

/**
 * Creates an empty database, drops an existing one of that name, and returns its URL.
 * @param options of CREATE DATABASE
 */
export async function createDatabase(name: string, options = ''): Promise<string> {
  await withAdmin(async (client) => {
    const database = pg.escapeIdentifier(name);
    await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${database} ${options}`);
    // A deadlock must be detected, and counted, before a lock timeout ends the wait.
    await client.query(`ALTER DATABASE ${database} SET deadlock_timeout = '5ms'`);
    // Nothing here must survive a crash of the machine, and a commit does not wait for a disk that is busy with other tests.
    await client.query(`ALTER DATABASE ${database} SET synchronous_commit = off`);
  });
  const url = new URL(postgresUrl());
  url.pathname = `/${name}`;
  return url.href;
}

/** Drops the database if it exists, with all connections to it. */
export async function dropDatabase(name: string): Promise<void> {
  await withAdmin((client) =>
    client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`),
  );
}

/** An empty database of this process, and the function that drops it. */
export async function ownDatabase(options?: string): Promise<{ url: string; remove(): Promise<void> }> {
  made += 1;
  const name = `${OWNED}_${process.pid}_${made}`;
  return { url: await createDatabase(name, options), remove: () => dropDatabase(name) };
}

/** Runs `use` with an empty database, and drops it. */
export async function withDatabase<Result>(
  use: (url: string) => Promise<Result>,
  options?: string,
): Promise<Result> {
  const { url, remove } = await ownDatabase(options);
  try {
    return await use(url);
  } finally {
    await remove();
  }
}

/** Runs `use` with a direct connection to a database, beside the store. */
export async function withClient<Result>(
  url: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_LIMIT_MS });
  // A test can stop the server under the connection.
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}

function withAdmin<Result>(use: (client: pg.Client) => Promise<Result>): Promise<Result> {
  return withClient(postgresUrl(), use);
}

/** Drops the databases of killed processes. */
async function removeAbandoned(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [
    `${OWNED}_`,
  ]);
  for (const { datname } of rows) {
    const pid = Number(datname.split('_').at(-2));
    if (!isAlive(pid)) {
      await client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(datname)} WITH (FORCE)`);
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== 'ESRCH';
  }
}
