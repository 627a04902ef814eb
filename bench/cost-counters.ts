/** What a server, its PostgreSQL and its Redis have done so far. All run on this machine. */
import { processorSeconds } from './process-usage.ts';
import { loadProcessorSeconds } from './processes.ts';
import {
  redisCalls,
  redisProcessorSeconds,
  rowsOf,
  type ScaleOutServers,
  statements,
} from './scale-out-servers.ts';

export interface Counters {
  /** Processor time of Rollcall's processes, of PostgreSQL's, of Redis and of the load generator, in seconds. */
  readonly serverSeconds: number;
  readonly postgresSeconds: number;
  readonly redisSeconds: number;
  readonly loadSeconds: number;
  /** Transactions of PostgreSQL; a statement outside of one counts as one. */
  readonly statements: number;
  /** Calls that clients sent to Redis; a script is one. */
  readonly redisCalls: number;
  /** Bytes that PostgreSQL wrote to its log. */
  readonly walBytes: number;
}

const BACKENDS =
  'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
const WAL = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8";

/** Reads the counters of these servers. PostgreSQL's are up to date only seconds later, and are waited for. */
export async function readCounters(servers: ScaleOutServers, pids: readonly number[]): Promise<Counters> {
  const { databaseUrl } = servers.urls;
  const sum = (ids: readonly number[]) => ids.reduce((total, pid) => total + processorSeconds(pid), 0);
  const backends = (await rowsOf(databaseUrl, BACKENDS)).map(([pid]) => Number(pid));
  const [[walBytes]] = (await rowsOf(databaseUrl, WAL)) as [[number]];
  const times = {
    serverSeconds: sum(pids),
    postgresSeconds: sum(backends),
    loadSeconds: loadProcessorSeconds(),
  };
  return {
    ...times,
    redisSeconds: await redisProcessorSeconds(),
    redisCalls: await redisCalls(),
    walBytes,
    statements: await statements(databaseUrl),
  };
}

/** What one of `count` equal things did between two readings. Times are in microseconds. */
export interface Cost {
  readonly server: number;
  readonly postgres: number;
  readonly redis: number;
  readonly load: number;
  readonly statements: number;
  readonly redisCalls: number;
  readonly walBytes: number;
}

export function costOf(before: Counters, after: Counters, count: number): Cost {
  const each = (name: keyof Counters) => (after[name] - before[name]) / count;
  return {
    server: each('serverSeconds') * 1e6,
    postgres: each('postgresSeconds') * 1e6,
    redis: each('redisSeconds') * 1e6,
    load: each('loadSeconds') * 1e6,
    statements: each('statements'),
    redisCalls: each('redisCalls'),
    walBytes: each('walBytes'),
  };
}
