/** The PostgreSQL and Redis that the scale-out engine is measured on: databases and a key prefix of the bench's own. */
import { Redis } from 'ioredis';
import pg from 'pg';
import { absentServers, postgresUrl, redisUrl } from '../packages/server/test/support/servers.ts';
import { PROJECT } from './credentials.ts';
import { print } from './report.ts';

/** An idle connection adds what it did to PostgreSQL's counters up to ten seconds later. */
const COUNTERS_MS = 11_000;

export interface ScaleOutServers extends AsyncDisposable {
  readonly urls: { readonly databaseUrl: string; readonly redisUrl: string };
  freshDatabase(): Promise<string>;
}

/** Whether PostgreSQL and Redis are there. Otherwise the report says that `what` is not measured. */
export async function hasServers(what: string): Promise<boolean> {
  const absent = await absentServers();
  if (absent.length === 0) return true;
  print(`${what}: not measured: ${absent.join('; ')}.`);
  print();
  return false;
}

let made = 0;

export async function makeServers(): Promise<ScaleOutServers> {
  made += 1;
  const prefix = `rollcall-bench-${process.pid}-${made}`;
  const databases: string[] = [];
  const freshDatabase = async () => {
    const name = `rollcall_bench_${process.pid}_${made}_${databases.length}`;
    databases.push(name);
    await rowsOf(postgresUrl(), `CREATE DATABASE ${name}`);
    const url = new URL(postgresUrl());
    url.pathname = `/${name}`;
    return url.href;
  };
  const redis = new URL(redisUrl());
  redis.searchParams.set('prefix', prefix);
  return {
    urls: { databaseUrl: await freshDatabase(), redisUrl: redis.href },
    freshDatabase,
    async [Symbol.asyncDispose]() {
      for (const name of databases)
        await rowsOf(postgresUrl(), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await removeKeys(prefix);
    },
  };
}

/** The rows that a statement returns, as arrays. */
export async function rowsOf(url: string, text: string, ...values: unknown[]): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text, values, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

/** The store's key of the project that every server is started with. */
export async function projectKey(databaseUrl: string): Promise<string> {
  const [[key]] = (await rowsOf(
    databaseUrl,
    'SELECT project_id FROM projects WHERE id = $1',
    PROJECT.id,
  )) as [[string]];
  return key;
}

/** Bytes of Redis' memory for data. */
export const redisMemory = async (): Promise<number> => {
  const read = await redisNumbers('memory');
  return read('used_memory_dataset');
};

/** Processor time of Redis and all its threads so far, in seconds. */
export const redisProcessorSeconds = async (): Promise<number> => {
  const read = await redisNumbers('cpu');
  return read('used_cpu_user') + read('used_cpu_sys');
};

/** Calls from inside of scripts are counted by Redis too, under these names only when a client sends them. */
const SCRIPT_CALLS = ['cmdstat_evalsha', 'cmdstat_eval', 'cmdstat_fcall'];

/** Calls of scripts that clients sent to Redis so far. */
export const redisCalls = async (): Promise<number> => {
  const read = await redisNumbers('commandstats');
  return SCRIPT_CALLS.reduce((total, name) => total + read(name), 0);
};

/** Reads the numbers of a section of Redis' INFO by their names; of a command, how often it was called. */
async function redisNumbers(section: string): Promise<(name: string) => number> {
  const client = new Redis(redisUrl());
  const text = await client.info(section);
  client.disconnect();
  const lines = new Map(text.split('\r\n').map((line) => line.split(':') as [string, string]));
  return (name) => Number(/^(?:calls=)?([\d.]+)/.exec(lines.get(name) ?? '')?.[1] ?? 0);
}

async function removeKeys(prefix: string): Promise<void> {
  const client = new Redis(redisUrl());
  for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await client.unlink(...(keys as string[]));
  }
  client.disconnect();
}

/** Transactions so far; each of our statements outside of one counts as one. */
export async function statements(url: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, COUNTERS_MS));
  const [[count]] = (await rowsOf(
    url,
    'SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()',
  )) as [[number]];
  return count;
}
