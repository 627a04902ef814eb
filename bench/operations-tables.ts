/** Every operation beside a bare `node:http` server, on a small and on a large dataset. */
import { basename } from 'node:path';
import { projectToken } from './credentials.ts';
import { type Dataset, fill, LARGE, SMALL } from './dataset.ts';
import { CONNECTIONS, type Measurement, measureAlternately, type Pace, type Subject } from './measure.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { type Child, load, type RollcallOptions, startRollcall, startServer } from './processes.ts';
import { one, print, table, two, verdict, whole } from './report.ts';

/** p99 may be this many times the median. */
const SPREAD_TARGET = 5;
/** The target of an operation's rate with 100,000 users, as a part of the small one. */
const LARGE_TARGET = 0.8;

/** A measured operation. */
export interface Selection {
  /** The checkouts whose servers are measured. */
  readonly directories: readonly string[];
  /** Only operations whose name contains this. */
  readonly only: string;
}

export interface TableOptions extends Selection {
  /** The settings of each server, apart from its directory. */
  readonly engine: () => Promise<RollcallOptions>;
  /**
   * Ratios have targets, and the load generator does not sleep. Of the scale-out engine, PostgreSQL and Redis need time on the
   * core of the load: p99 at half the load is not measured, and ratios have targets beside a bare client only.
   */
  readonly isEmbedded: boolean;
}

/** A server of one checkout for each dataset. */
interface Servers {
  readonly name: string;
  readonly small: Child;
  readonly large: Child;
}

/** Measures, and prints a table for each dataset. */
export async function operationsTables(pace: Pace, options: TableOptions): Promise<void> {
  const token = await projectToken();
  const servers: Servers[] = [];
  for (const directory of options.directories) {
    const start = async (dataset: Dataset) => {
      const server = await startRollcall({ ...(await options.engine()), directory });
      await fill(server, token, dataset);
      return server;
    };
    servers.push({ name: basename(directory), small: await start(SMALL), large: await start(LARGE) });
  }
  const rows: Rows = { small: [], large: [] };
  for (const operation of OPERATIONS.filter(({ name }) => name.includes(options.only)))
    await measureOperation(pace, operation, { servers, token, isEmbedded: options.isEmbedded }, rows);
  const half = options.isEmbedded ? ['p99 ms at half the load'] : [];
  table(
    [
      ...[
        'operation',
        'requests/s',
        'bare/s',
        'ratio',
        'target',
        '',
        'p50 ms',
        'p99 ms (bare)',
        'p99 / p50',
        '',
      ],
      ...[...half, 'processor µs (bare)'],
    ],
    rows.small,
  );
  print(
    `### The same operations with ${whole(LARGE.users)} users, ${whole(LARGE.groups)} groups of ${LARGE.groupSize}`,
  );
  print();
  table(
    [
      ...['operation', `requests/s, ${whole(SMALL.users)} users`, `${whole(LARGE.users)} users`],
      ...[
        `ratio (≥ ${two(LARGE_TARGET)})`,
        '',
        'p50 ms',
        'p99 ms',
        'p99 / p50',
        `processor µs (${whole(SMALL.users)} users)`,
      ],
    ],
    rows.large,
  );
  await Promise.all(servers.flatMap(({ small, large }) => [small.stop(), large.stop()]));
}

export const addressOf = ({ port, pid }: Child) => ({ port, pid });

/** The rows of both tables. */
interface Rows {
  readonly small: string[][];
  readonly large: string[][];
}

/** The servers that the operations are measured on. */
interface Setting {
  readonly servers: readonly Servers[];
  readonly token: string;
  readonly isEmbedded: boolean;
}

/** Adds a row for each checkout. All are measured in the same rounds. */
async function measureOperation(
  pace: Pace,
  operation: Operation,
  { servers, token, isEmbedded }: Setting,
  rows: Rows,
): Promise<void> {
  const requests = { small: operation.requests(SMALL, token), large: operation.requests(LARGE, token) };
  const bare = await startBareFor(operation, servers[0]?.small as Child, requests.small);
  const subjects: Subject[] = [{ name: 'bare node:http', ...addressOf(bare), requests: requests.small }];
  for (const { small, large } of servers) {
    subjects.push({ name: operation.name, ...addressOf(small), requests: requests.small });
    subjects.push({ name: `${operation.name}, large`, ...addressOf(large), requests: requests.large });
  }
  const measurements = await measureAlternately(subjects, pace, isEmbedded);
  await bare.stop();
  const [yardstick, ...ours] = measurements as [Measurement, ...Measurement[]];
  for (const [index, { name, small }] of servers.entries()) {
    const [few, many] = ours.slice(2 * index) as [Measurement, Measurement];
    const title = servers.length > 1 ? `${operation.name}: ${name}` : operation.name;
    const subject = { name: operation.name, ...addressOf(small), requests: requests.small };
    rows.small.push([
      ...[title, whole(few.requestsPerSecond), whole(yardstick.requestsPerSecond)],
      ...[two(few.ratio), ...target(isEmbedded ? operation.target : null, few.ratio)],
      ...[two(few.p50), `${two(few.p99)} (${two(yardstick.p99)})`],
      ...[two(few.spread), verdict(few.spread <= SPREAD_TARGET)],
      ...(isEmbedded ? [two(await p99AtHalf(pace, subject, few))] : []),
      `${one(few.processorMicroseconds)} (${one(yardstick.processorMicroseconds)})`,
    ]);
    rows.large.push([title, ...largeColumns(few, many)]);
  }
}

function target(least: number | null, ratio: number): string[] {
  return least === null ? ['', ''] : [`≥ ${two(least)}`, verdict(ratio >= least)];
}

function largeColumns(few: Measurement, many: Measurement): string[] {
  const share = many.ratio / few.ratio;
  return [
    ...[
      whole(few.requestsPerSecond),
      whole(many.requestsPerSecond),
      two(share),
      verdict(share >= LARGE_TARGET),
    ],
    ...[two(many.p50), two(many.p99), two(many.spread)],
    `${one(many.processorMicroseconds)} (${one(few.processorMicroseconds)})`,
  ];
}

/** A bare server whose answers are as long as those of the operation. */
export async function startBareFor({ name }: Operation, server: Child, requests: string[]): Promise<Child> {
  const plan = { port: server.port, connections: CONNECTIONS, seconds: 0.1, awake: false, requests };
  const { bodyBytes } = await load(name, plan);
  return startServer('bare-server.ts', String(bodyBytes));
}

async function p99AtHalf(pace: Pace, subject: Subject, full: Measurement): Promise<number> {
  const requestsPerSecond = full.requestsPerSecond / 2;
  const [half] = await measureAlternately([{ ...subject, requestsPerSecond }], pace);
  return (half as Measurement).p99;
}
