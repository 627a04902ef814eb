import pg from 'pg';

/** The servers that a cluster stands on. */
export interface Servers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** For display, without user and password. */
  readonly names: string;
}

const LOCAL_POSTGRES = 'postgres://postgres@127.0.0.1:5432';
const LOCAL_DATABASE = 'rollcall_cluster';
const LOCAL_REDIS = 'redis://127.0.0.1:6379';

const DUPLICATE_DATABASE = '42P04';

/**
 * The servers that ROLLCALL_DATABASE_URL and ROLLCALL_REDIS_URL name, or the local ones at their default ports. On the
 * local PostgreSQL it creates the database `rollcall_cluster` when missing. @throws Error that names what to start or set
 */
export async function localServers(environment: NodeJS.ProcessEnv): Promise<Servers> {
  const redisUrl = environment.ROLLCALL_REDIS_URL || LOCAL_REDIS;
  const databaseUrl = environment.ROLLCALL_DATABASE_URL || (await localDatabase());
  const names = `one PostgreSQL (${hostOf(databaseUrl)}) and one Redis (${hostOf(redisUrl)})`;
  return { databaseUrl, redisUrl, names };
}

/** The URL without scheme, user, password and parameters. */
const hostOf = (url: string) => url.replace(/^\w+:\/\/(?:[^@/]*@)?/, '').replace(/\?.*$/, '');

async function localDatabase(): Promise<string> {
  const client = new pg.Client({ connectionString: `${LOCAL_POSTGRES}/postgres` });
  try {
    await client.connect();
    await client.query(`CREATE DATABASE ${LOCAL_DATABASE}`);
  } catch (error) {
    const { code, message } = error as pg.DatabaseError;
    if (code !== DUPLICATE_DATABASE) {
      throw new Error(
        `${LOCAL_POSTGRES}: ${message || code}: start PostgreSQL there, or set ROLLCALL_DATABASE_URL`,
      );
    }
  } finally {
    await client.end();
  }
  return `${LOCAL_POSTGRES}/${LOCAL_DATABASE}`;
}
