import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectToken } from './credentials.ts';
import { drawn, fill, SMALL, userId } from './dataset.ts';
import type { Pace } from './measure.ts';
import { OPERATIONS } from './operations.ts';
import { type Child, canPin, freshDirectory, load, SERVER_CORE, startServer } from './processes.ts';
import { median, say, table, two, verdict, whole } from './report.ts';

/** A batch may take this many times as long as inserting its rows without anything around. */
const TARGET = 3;
const OTHERS_P99_MS = 50;
const ROUNDS = 5;

export interface LargeBatch {
  readonly users: readonly { readonly id: string; readonly name: string; readonly email: string }[];
  readonly groups: readonly {
    readonly id: string;
    readonly name: string;
    readonly members: readonly string[];
  }[];
}

/** 10,000 users and 1,000 groups of 100 members; `turn` makes the IDs new. */
export function largeBatch(turn: number): LargeBatch {
  const users = Array.from({ length: 10_000 }, (_, index) => {
    const id = `${userId(index)}-${turn}`;
    return { id, name: `User ${index}`, email: `${id}@example.com` };
  });
  const numbers = drawn(users.length, turn + 1);
  const groups = Array.from({ length: 1_000 }, (_, index) => {
    const members = new Set<string>();
    while (members.size < 100) members.add(users[numbers.next().value]?.id as string);
    return { id: `batch-${turn}-${index}`, name: `Batch ${index}`, members: [...members] };
  });
  return { users, groups };
}

/** The largest batch beside a raw bulk insert of its rows, and what other requests notice of it. */
export async function batchPart(pace: Pace): Promise<void> {
  say('### A batch of 10,000 users and 1,000 groups of 100 members');
  say();
  const token = await projectToken();
  const server = await startServer('rollcall-server.ts', JSON.stringify({ dataDir: freshDirectory() }));
  await fill(server.port, token, SMALL);
  const directory = freshDirectory();
  const ratios: number[] = [];
  const times: { raw: number[]; first: number[]; again: number[] } = { raw: [], first: [], again: [] };
  for (let turn = -1; turn < ROUNDS; turn += 1) {
    const batch = largeBatch(turn + 1);
    const raw = rawInsert(freshDirectory(), join(directory, 'batch.json'), batch);
    const first = await send(server, token, batch);
    const again = await send(server, token, batch);
    if (turn < 0) continue;
    ratios.push(first / raw);
    times.raw.push(raw);
    times.first.push(first);
    times.again.push(again);
  }
  const ratio = median(ratios);
  table(
    ['what', 'milliseconds', 'ratio', 'target', ''],
    [
      ['raw bulk insert of the same rows', whole(median(times.raw)), '', '', ''],
      [
        'batch over HTTP, everything new',
        whole(median(times.first)),
        two(ratio),
        `≤ ${two(TARGET)}`,
        verdict(ratio <= TARGET),
      ],
      [
        'the same batch again, nothing changed',
        whole(median(times.again)),
        two(median(times.again) / median(times.raw)),
        '',
        '',
      ],
    ],
  );
  await othersMeanwhile(pace, server, token, true);
  await server.stop();
}

function rawInsert(dataDir: string, file: string, batch: LargeBatch): number {
  writeFileSync(file, JSON.stringify(batch));
  const script = new URL('./raw-bulk-insert.ts', import.meta.url).pathname;
  const command = [
    ...(canPin ? ['taskset', '-c', String(SERVER_CORE)] : []),
    process.execPath,
    script,
    dataDir,
    file,
  ];
  const text = execFileSync(command[0] as string, command.slice(1), { encoding: 'utf8' });
  return (JSON.parse(text) as { milliseconds: number }).milliseconds;
}

export async function send(server: Child, token: string, batch: LargeBatch): Promise<number> {
  const body = JSON.stringify(batch);
  const begin = performance.now();
  const answer = await fetch(`http://127.0.0.1:${server.port}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the batch was refused: ${text}`);
  return performance.now() - begin;
}

/** Other requests while batches come one after another without a pause: 8 callers, each with one request at a time. */
export async function othersMeanwhile(
  { seconds }: Pace,
  server: Child,
  token: string,
  hasOneWriter: boolean,
): Promise<void> {
  const where = hasOneWriter ? '' : ' on PostgreSQL';
  say(`### Other requests while such batches run without a pause${where}`);
  say();
  let running = true;
  let batches = 0;
  const sending = (async () => {
    while (running) {
      await send(server, token, largeBatch(100 + batches));
      batches += 1;
    }
  })();
  const rows: string[][] = [];
  for (const operation of OPERATIONS) {
    const requests = operation.requests(SMALL, token);
    const { requestsPerSecond, p50, p99, max } = await load(operation.name, {
      port: server.port,
      connections: 8,
      seconds: seconds * 2,
      awake: false,
      requests,
    });
    const waits = hasOneWriter && operation.targetOnTwoCores !== null;
    rows.push([
      operation.name,
      whole(requestsPerSecond),
      two(p50),
      two(p99),
      two(max),
      waits ? 'waits its turn' : verdict(p99 <= OTHERS_P99_MS),
    ]);
  }
  running = false;
  await sending;
  table(['operation', 'requests/s', 'p50 ms', `p99 ms (≤ ${OTHERS_P99_MS})`, 'longest ms', ''], rows);
  const why = hasOneWriter ? ' A durable write waits for the batch whose transaction it comes after.' : '';
  say(`${batches} batches were applied meanwhile.${why}`);
  say();
}
