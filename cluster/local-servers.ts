import pg from 'pg';

/** The servers that a cluster stands on. */
export interface Servers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** For people: no user and no password. */
  readonly names: string;
}

const LOCAL_POSTGRES = 'postgres://postgres@127.0.0.1:5432';
const LOCAL_DATABASE = 'rollcall_cluster';
const LOCAL_REDIS = 'redis://127.0.0.1:6379';

const DUPLICATE_DATABASE = '42P04';

/**
 * Those that ROLLCALL_DATABASE_URL and ROLLCALL_REDIS_URL name; without these, this machine's, with a database of our
 * own in its PostgreSQL, made when missing. @throws Error that says what to start or to set
 */
export async function localServers(environment: NodeJS.ProcessEnv): Promise<Servers> {
  const redisUrl = environment.ROLLCALL_REDIS_URL || LOCAL_REDIS;
  const databaseUrl = environment.ROLLCALL_DATABASE_URL || (await localDatabase());
  const names = `one PostgreSQL (${placeOf(databaseUrl)}) and one Redis (${placeOf(redisUrl)})`;
  return { databaseUrl, redisUrl, names };
}

/** The part of a URL after the password, up to the parameters. */
const placeOf = (url: string) => url.replace(/^\w+:\/\/(?:[^@/]*@)?/, '').replace(/\?.*$/, '');

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
