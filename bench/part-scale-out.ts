import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { openPostgresStore } from '../packages/server/src/store/postgres/postgres-store.ts';
import { absentServers, postgresUrl, redisUrl } from '../packages/server/test/support/servers.ts';
import type { BarePlan } from './bare-client.ts';
import { PROJECT, projectToken } from './credentials.ts';
import {
  type Dataset,
  fill,
  largeGroupId,
  largeGroupMembers,
  SMALL,
  smallGroupId,
  smallGroupMembers,
} from './dataset.ts';
import { CONNECTIONS, type Pace } from './measure.ts';
import { OPERATIONS, presenceRequest } from './operations.ts';
import { largeBatch, send } from './part-batch.ts';
import { type Child, canPin, freshDirectory, load, runBare, SERVER_CORE, startServer } from './processes.ts';
import { median, say, table, two, verdict, whole } from './report.ts';

/** An operation over HTTP, what its rows cost a bare client, and the share of that it must reach, if any. */
interface Comparison {
  readonly name: string;
  readonly what: BarePlan['what'];
  readonly target: number | null;
  /** Default: those of the operation of this name. */
  readonly requests?: (token: string) => string[];
}

const COMPARISONS: readonly Comparison[] = [
  { name: 'GET group (10 members)', what: 'select', target: 0.5 },
  { name: 'PUT group name (durable)', what: 'update', target: 0.5 },
  { name: 'PUT presence (refresh)', what: 'evalsha', target: 0.4 },
  { name: 'PUT presence (move)', what: 'evalsha', target: null },
  { name: 'PUT presence (each seldom)', what: 'evalsha', target: null, requests: seldomRequests },
];
/** So many members of groups that each comes again after some seconds: none is remembered to be one. */
const CROWD: Dataset = { users: 1_000, smallGroups: 0, largeGroups: 500 };
const BATCH_TARGET = 3;
const BATCH_ROUNDS = 3;
/** An idle connection tells PostgreSQL's counters of what it did ten seconds late. */
const COUNTERS_MS = 11_000;

/** The scale-out engine beside what the same PostgreSQL and Redis give a bare client. */
export async function scaleOutPart(pace: Pace): Promise<void> {
  say('### PostgreSQL and Redis, one process on one core, 32 connections');
  say();
  const absent = await absentServers();
  if (absent.length > 0) {
    say(`Not measured: ${absent.join('; ')}.`);
    say();
    return;
  }
  const token = await projectToken();
  const place = await makePlace();
  try {
    const options = { dataDir: freshDirectory(), ...place.urls };
    const server = await startServer('rollcall-server.ts', JSON.stringify(options));
    await fill(server.port, token, SMALL);
    await fill(server.port, token, CROWD);
    await operations(pace, token, server, place);
    await batch(token, server, place);
    await server.stop();
  } finally {
    await place.remove();
  }
}

interface Place {
  readonly urls: { readonly databaseUrl: string; readonly redisUrl: string };
  freshDatabase(): Promise<string>;
  remove(): Promise<void>;
}

/** Databases and a key prefix of the bench's own. */
async function makePlace(): Promise<Place> {
  const prefix = `rollcall-bench-${process.pid}`;
  const databases: string[] = [];
  const freshDatabase = async () => {
    const name = `rollcall_bench_${process.pid}_${databases.length}`;
    databases.push(name);
    await asked(postgresUrl(), `CREATE DATABASE ${name}`);
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
        await asked(postgresUrl(), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await removeKeys(prefix);
    },
  };
}

async function asked(url: string, text: string, ...values: unknown[]): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text, values, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

async function removeKeys(prefix: string): Promise<void> {
  const client = new Redis(redisUrl());
  for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await client.unlink(...(keys as string[]));
  }
  client.disconnect();
}

async function operations(pace: Pace, token: string, server: Child, { urls }: Place): Promise<void> {
  const [[project]] = (await asked(
    urls.databaseUrl,
    'SELECT project_id FROM projects WHERE id = $1',
    PROJECT.id,
  )) as [[string]];
  const groups = Array.from({ length: SMALL.smallGroups }, (_, index) => smallGroupId(index));
  const members = groups.map((_, index) => smallGroupMembers(SMALL, index)[0] as string);
  const rows: string[][] = [];
  for (const { name, what, target, requests: requestsOf = requestsOfOperation(name) } of COMPARISONS) {
    const requests = requestsOf(token);
    const plan = {
      port: server.port,
      connections: CONNECTIONS,
      seconds: pace.seconds,
      requests,
      awake: false,
    };
    const bare: BarePlan = {
      what,
      ...urls,
      project,
      groups,
      members,
      callers: CONNECTIONS,
      seconds: pace.seconds,
    };
    const rounds: { bare: number; ours: number; p99: number; ratio: number }[] = [];
    for (let round = -1; round < pace.rounds; round += 1) {
      const { requestsPerSecond: alone } = await runBare<BarePlan>('bare-client.ts', bare);
      const { requestsPerSecond: ours, p99 } = await load(name, plan);
      if (round >= 0) rounds.push({ bare: alone, ours, p99, ratio: ours / alone });
    }
    const before = await statements(urls.databaseUrl);
    const { requestsPerSecond: counted } = await load(name, plan);
    const perStatement = (counted * pace.seconds) / ((await statements(urls.databaseUrl)) - before);
    const of = (column: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[column]));
    const ratio = of('ratio');
    rows.push([
      name,
      whole(of('ours')),
      two(of('p99')),
      `${what} ${whole(of('bare'))}`,
      two(ratio),
      target === null ? '' : `≥ ${two(target)}`,
      target === null ? '' : verdict(ratio >= target),
      two(perStatement),
    ]);
  }
  table(
    [
      'operation',
      'requests/s',
      'p99 ms',
      'bare client/s',
      'ratio',
      'target',
      '',
      'requests per SQL statement',
    ],
    rows,
  );
}

function requestsOfOperation(name: string): (token: string) => string[] {
  const operation = OPERATIONS.find((candidate) => candidate.name === name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return (token) => operation.requests(SMALL, token);
}

function seldomRequests(token: string): string[] {
  return Array.from({ length: CROWD.largeGroups }, (_, index) =>
    largeGroupMembers(CROWD, index).map((user) =>
      presenceRequest(token, { user, group: largeGroupId(index), page: 0, paragraph: 0 }),
    ),
  ).flat();
}

/** Transactions so far; each of our statements outside of one counts as one. */
async function statements(url: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, COUNTERS_MS));
  const [[count]] = (await asked(
    url,
    'SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()',
  )) as [[number]];
  return count;
}

async function batch(token: string, server: Child, place: Place): Promise<void> {
  say('### A batch of 10,000 users and 1,000 groups of 100 members on PostgreSQL');
  say();
  const file = join(freshDirectory(), 'batch.json');
  const times: { copy: number[]; first: number[]; again: number[] } = { copy: [], first: [], again: [] };
  for (let turn = -1; turn < BATCH_ROUNDS; turn += 1) {
    const content = largeBatch(turn + 1);
    const copy = await copied(await place.freshDatabase(), file, content);
    const first = await send(server, token, content);
    const again = await send(server, token, content);
    if (turn < 0) continue;
    times.copy.push(copy);
    times.first.push(first);
    times.again.push(again);
  }
  const ratio = median(times.first.map((first, round) => first / (times.copy[round] ?? Number.NaN)));
  const isFaster = median(times.again) < median(times.first);
  table(
    ['what', 'milliseconds', 'ratio', 'target', ''],
    [
      ['COPY of the same rows', whole(median(times.copy)), '', '', ''],
      [
        'batch over HTTP, everything new',
        whole(median(times.first)),
        two(ratio),
        `≤ ${two(BATCH_TARGET)}`,
        verdict(ratio <= BATCH_TARGET),
      ],
      [
        'the same batch again, nothing changed',
        whole(median(times.again)),
        two(median(times.again) / median(times.copy)),
        'faster than the first',
        verdict(isFaster),
      ],
    ],
  );
}

/** The tables are the store's own: it makes them. */
async function copied(url: string, file: string, content: object): Promise<number> {
  const store = await openPostgresStore({ url });
  await store.close();
  writeFileSync(file, JSON.stringify(content));
  const script = new URL('./bare-copy.ts', import.meta.url).pathname;
  const pinned = canPin ? ['taskset', '-c', String(SERVER_CORE)] : [];
  const command = [...pinned, process.execPath, script, url, file];
  const text = execFileSync(command[0] as string, command.slice(1), { encoding: 'utf8' });
  return (JSON.parse(text) as { milliseconds: number }).milliseconds;
}
