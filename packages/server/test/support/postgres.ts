/** The PostgreSQL that tests use: each gets a database of its own on it, which is removed afterwards. */
import process from 'node:process';
import pg from 'pg';
import { postgresUrl } from './servers.ts';

const isRequired = (process.env.ROLLCALL_TEST_REQUIRE ?? '').includes('postgres');
const CONNECT_LIMIT_MS = 3_000;
/** Of the databases of {@link withDatabase}: the process that made one is in its name. */
const OWNED = 'rollcall_own_test';

let made = 0;

/** Why tests on PostgreSQL are skipped here, or false when they are not: where it is required, its absence fails them. */
export const skipsPostgres: string | false = await whyNot();

async function whyNot(): Promise<string | false> {
  try {
    await withAdmin(removeAbandoned);
    return false;
  } catch (error) {
    if (isRequired) throw error;
    const { message, code } = error as Error & { code?: string };
    const reason = `no PostgreSQL answers (${message || code})`;
    console.log(`tests on PostgreSQL are skipped: ${reason}`);
    return reason;
  }
}

/** Creates an empty database in place of any of that name; its URL. */
export async function createDatabase(name: string): Promise<string> {
  await dropDatabase(name);
  await withAdmin(async (client) => {
    await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
    // So that a deadlock is found, and counted, before anybody tires of waiting for the lock.
    await client.query(`ALTER DATABASE ${pg.escapeIdentifier(name)} SET deadlock_timeout = '5ms'`);
  });
  const url = new URL(postgresUrl());
  url.pathname = `/${name}`;
  return url.href;
}

/** Drops it if it is there, whoever is connected. */
export async function dropDatabase(name: string): Promise<void> {
  await withAdmin((client) =>
    client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`),
  );
}

/** An empty database of this process's own, and how it is removed. */
export async function ownDatabase(): Promise<{ url: string; remove(): Promise<void> }> {
  made += 1;
  const name = `${OWNED}_${process.pid}_${made}`;
  return { url: await createDatabase(name), remove: () => dropDatabase(name) };
}

/** Runs `use` with a database that is removed after it. */
export async function withDatabase<Result>(use: (url: string) => Promise<Result>): Promise<Result> {
  const { url, remove } = await ownDatabase();
  try {
    return await use(url);
  } finally {
    await remove();
  }
}

/** Looks at, or changes, a database behind the store's back. */
export async function withClient<Result>(
  url: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_LIMIT_MS });
  // Whoever stops the server under it knows.
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

/** Databases of processes that were killed before they could remove them. */
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
