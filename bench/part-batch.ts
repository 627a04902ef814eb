import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectToken } from './credentials.ts';
import { fill, randomNumbers, SMALL, userId } from './dataset.ts';
import { send } from './http.ts';
import { type Pace, timeOf } from './measure.ts';
import { OPERATIONS } from './operations.ts';
import { type Child, freshDirectory, load, runAlone, startRollcall } from './processes.ts';
import { median, print, table, two, verdict, whole } from './report.ts';

/** A batch may take this many times as long as inserting its rows without anything around. */
const TARGET = 3;
const OTHERS_P99_MS = 50;
const OTHERS_CONNECTIONS = 8;
const ROUNDS = 5;

export interface LargeBatch {
  readonly users: readonly { readonly id: string; readonly name: string; readonly email: string }[];
  readonly groups: readonly {
    readonly id: string;
    readonly name: string;
    readonly members: readonly string[];
  }[];
}

/** 10,000 users and 1,000 groups of 100 members; `number` makes the IDs new. */
function largeBatch(number: number): LargeBatch {
  const users = Array.from({ length: 10_000 }, (_, index) => {
    const id = `${userId(index)}-${number}`;
    return { id, name: `User ${index}`, email: `${id}@example.com` };
  });
  const numbers = randomNumbers(users.length, number + 1);
  const groups = Array.from({ length: 1_000 }, (_, index) => {
    const members = new Set<string>();
    while (members.size < 100) members.add(users[numbers.next().value]?.id as string);
    return { id: `batch-${number}-${index}`, name: `Batch ${index}`, members: [...members] };
  });
  return { users, groups };
}

/** Milliseconds, as medians of the rounds. */
export interface BatchTimes {
  readonly bare: number;
  /** Everything in it is new. */
  readonly first: number;
  /** The same batch again: nothing changes. */
  readonly again: number;
  /** The median of each round's first over bare. */
  readonly ratio: number;
}

/** Sends batches, each beside a bare insert of its rows. `insert` reads the batch from a file and answers milliseconds. */
export async function measureBatches(
  rounds: number,
  server: Child,
  token: string,
  insert: (batchFile: string) => number | Promise<number>,
): Promise<BatchTimes> {
  const file = join(freshDirectory(), 'batch.json');
  const times: Record<keyof BatchTimes, number[]> = { bare: [], first: [], again: [], ratio: [] };
  for (let round = -1; round < rounds; round += 1) {
    const batch = JSON.stringify(largeBatch(round + 1));
    writeFileSync(file, batch);
    const bare = await insert(file);
    const first = await timeOf(() => send(server, token, 'POST', '/v1/batch', batch));
    const again = await timeOf(() => send(server, token, 'POST', '/v1/batch', batch));
    if (round < 0) continue;
    times.bare.push(bare);
    times.first.push(first);
    times.again.push(again);
    times.ratio.push(first / bare);
  }
  const of = (column: keyof BatchTimes) => median(times[column]);
  return { bare: of('bare'), first: of('first'), again: of('again'), ratio: of('ratio') };
}

/** The largest batch beside a raw bulk insert of its rows, and how other requests do meanwhile. */
export async function batchPart(pace: Pace): Promise<void> {
  print('### A batch of 10,000 users and 1,000 groups of 100 members');
  print();
  const token = await projectToken();
  await using server = await startRollcall();
  await fill(server, token, SMALL);
  const times = await measureBatches(
    ROUNDS,
    server,
    token,
    (file) => runAlone<{ milliseconds: number }>('raw-bulk-insert.ts', freshDirectory(), file).milliseconds,
  );
  batchTable('raw bulk insert of the same rows', times);
  await othersMeanwhile(pace, server, token, true);
}

export function batchTable(bareName: string, { bare, first, again, ratio }: BatchTimes): void {
  table(
    ['what', 'milliseconds', 'ratio', 'target', ''],
    [
      [bareName, whole(bare), '', '', ''],
      [
        'batch over HTTP, everything new',
        ...[whole(first), two(ratio), `≤ ${two(TARGET)}`, verdict(ratio <= TARGET)],
      ],
      [
        'the same batch again, nothing changed',
        ...[whole(again), two(again / bare), 'faster than the first', verdict(again < first)],
      ],
    ],
  );
}

/** Other requests while batches come one after another without a pause: 8 callers, each with one request at a time. */
export async function othersMeanwhile(
  { seconds }: Pace,
  server: Child,
  token: string,
  hasOneWriter: boolean,
): Promise<void> {
  print(`### Other requests while such batches run without a pause${hasOneWriter ? '' : ' on PostgreSQL'}`);
  print();
  let isRunning = true;
  let batches = 0;
  const sending = (async () => {
    while (isRunning) {
      await send(server, token, 'POST', '/v1/batch', largeBatch(100 + batches));
      batches += 1;
    }
  })();
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    const requests = operation.requests(SMALL, token);
    const connections = OTHERS_CONNECTIONS;
    const plan = { port: server.port, connections, seconds: seconds * 2, awake: false, requests };
    const { requestsPerSecond, p50, p99, max } = await load(operation.name, plan);
    const waits = hasOneWriter && operation.isDurable;
    rows.push([
      ...[operation.name, whole(requestsPerSecond), two(p50), two(p99), two(max)],
      waits ? 'waits for the writer' : verdict(p99 <= OTHERS_P99_MS),
    ]);
  }
  isRunning = false;
  await sending;
  table(['operation', 'requests/s', 'p50 ms', `p99 ms (≤ ${OTHERS_P99_MS})`, 'longest ms', ''], rows);
  const why = hasOneWriter ? ' A durable write waits until the transaction of the batch is committed.' : '';
  print(`${batches} batches were applied meanwhile.${why}`);
  print();
}
