/** The PostgreSQL and Redis that the scale-out engine is measured on: databases and a key prefix of the bench's own. */
import { Redis } from 'ioredis';
import pg from 'pg';
import { postgresUrl, redisUrl } from '../packages/server/test/support/servers.ts';

/** An idle connection adds what it did to PostgreSQL's counters up to ten seconds later. */
const COUNTERS_MS = 11_000;

export interface ScaleOutServers {
  readonly urls: { readonly databaseUrl: string; readonly redisUrl: string };
  freshDatabase(): Promise<string>;
  remove(): Promise<void>;
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
    async remove() {
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

/** Bytes of Redis' memory for data. */
export async function redisMemory(): Promise<number> {
  const client = new Redis(redisUrl());
  const text = await client.info('memory');
  client.disconnect();
  return Number(/^used_memory_dataset:(\d+)/m.exec(text)?.[1]);
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
