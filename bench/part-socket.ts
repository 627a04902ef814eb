import { join } from 'node:path';
import { projectToken } from './credentials.ts';
import { send } from './http.ts';
import type { Pace } from './measure.ts';
import { type Child, freshDirectory, runBeside, startRollcall, startServer } from './processes.ts';
import { one, print, table, two, verdict, whole } from './report.ts';
import type { Page, SocketPlan, SocketResult } from './socket-load.ts';

const GROUPS = 100;
const MOVERS = 2_000;
const READERS = 1_000;
const READ_MOVES_PER_SECOND = 200;
const HELD = 5_000;
const IDLE_SECONDS = 15;

const TARGET_SHARE = 0.5;
const TARGET_RATE = 60_000;
const TARGET_MICROSECONDS = 13;
const TARGET_READERS_SHARE = 0.8;
const TARGET_BYTES = 12_000;
const TARGET_IDLE = 0.05;

/** The socket: moves in many groups, many readers of one group, and many sockets that do nothing. */
export async function socketPart(
  { seconds }: Pace,
  { only, directories }: { only: string; directories: readonly string[] },
): Promise<void> {
  const token = await projectToken();
  if ('moves'.includes(only)) for (const directory of directories) await moves(seconds * 2, token, directory);
  if ('readers'.includes(only)) await readers(seconds * 4, token);
  if ('held'.includes(only)) await held(token);
}

const pages = (count: number, groups: number, kind: string): Page[] =>
  Array.from({ length: count }, (_, index) => ({
    userId: `${kind}${index}`,
    groupId: `group${index % groups}`,
  }));

async function fill(server: Child, token: string, all: readonly Page[]): Promise<void> {
  const groups = [...Map.groupBy(all, ({ groupId }) => groupId)].map(([id, own]) => ({
    ...{ id, name: id },
    members: own.map(({ userId }) => userId),
  }));
  await send(server, token, 'POST', '/v1/batch', { users: all.map(({ userId: id }) => ({ id })), groups });
}

async function moves(seconds: number, token: string, directory: string): Promise<void> {
  print(
    `### Socket: ${whole(MOVERS)} pages move in ${GROUPS} groups with a watcher each, server of ${directory}`,
  );
  print();
  const movers = pages(MOVERS, GROUPS, 'mover');
  const watchers = pages(GROUPS, GROUPS, 'watcher');
  const bare = await startServer('bare-socket-server.ts');
  const echo = await run({ ...at(bare), movers, watchers: [], isBare: true, seconds });
  await bare.stop();
  const server = await startRollcall({ directory });
  await fill(server, token, [...movers, ...watchers]);
  const full = await run({ ...at(server), movers, watchers, seconds });
  await server.stop();
  const second = await startRollcall({ directory });
  await fill(second, token, [...movers, ...watchers]);
  const movesPerSecond = full.movesPerSecond / 2;
  const half = await run({ ...at(second), movers, watchers, seconds, movesPerSecond });
  await second.stop();
  const share = full.movesPerSecond / echo.movesPerSecond;
  const { processorMicroseconds: microseconds } = full;
  table(
    ['what', 'measured', 'target', ''],
    [
      ['bare echo, messages a second', whole(echo.movesPerSecond), '', ''],
      ['bare echo, processor µs of a message', one(echo.processorMicroseconds), '', ''],
      [
        'moves a second',
        whole(full.movesPerSecond),
        `≥ ${whole(TARGET_RATE)}`,
        verdict(full.movesPerSecond >= TARGET_RATE),
      ],
      ['share of bare echo', two(share), `≥ ${TARGET_SHARE}`, verdict(share >= TARGET_SHARE)],
      [
        'processor µs of a move and its event',
        one(microseconds),
        `≤ ${TARGET_MICROSECONDS}`,
        verdict(microseconds <= TARGET_MICROSECONDS),
      ],
      ['events of the watchers a second', whole(full.eventsPerSecond), '', ''],
      ['processor µs at half of the rate', one(half.processorMicroseconds), '', ''],
      ['from a move to its answer at half of the rate, p50 ms', two(half.p50), '', ''],
      ['from a move to its answer at half of the rate, p99 ms', two(half.p99), '', ''],
    ],
  );
}

async function readers(seconds: number, token: string): Promise<void> {
  print(`### Socket: ${whole(READERS)} readers of one group, ${READ_MOVES_PER_SECOND} moves a second`);
  print();
  const movers = pages(10, 1, 'mover');
  const watchers = pages(READERS, 1, 'watcher');
  const server = await startRollcall();
  await fill(server, token, [...movers, ...watchers]);
  const plan = { ...at(server), movers, watchers, seconds, movesPerSecond: READ_MOVES_PER_SECOND };
  const { processorShare, eventsPerSecond } = await run(plan);
  await server.stop();
  table(
    ['what', 'measured', 'target', ''],
    [
      [
        'share of a core',
        two(processorShare),
        `≤ ${TARGET_READERS_SHARE}`,
        verdict(processorShare <= TARGET_READERS_SHARE),
      ],
      ['events of all readers a second', whole(eventsPerSecond), '', ''],
    ],
  );
}

async function held(token: string): Promise<void> {
  print(`### Socket: ${whole(HELD)} sockets that watch and hold a presence`);
  print();
  const memoryFile = join(freshDirectory(), 'memory.json');
  const movers = pages(HELD, GROUPS, 'mover');
  const server = await startRollcall({ memoryFile, presenceTtlSeconds: 30 });
  await fill(server, token, movers);
  const plan = { movers, watchers: [], moversWatch: true, seconds: IDLE_SECONDS, movesPerSecond: 0 };
  const { heapBytes, residentBytes, processorShare } = await run({ ...at(server), ...plan, memoryFile });
  await server.stop();
  table(
    ['what', 'measured', 'target', ''],
    [
      [
        'heap and buffers of a socket after a collection, bytes',
        whole(heapBytes),
        `≤ ${whole(TARGET_BYTES)}`,
        verdict(heapBytes <= TARGET_BYTES),
      ],
      ['resident memory of a socket after a collection, bytes', whole(residentBytes), '', ''],
      [
        'share of a core while nothing happens',
        two(processorShare),
        `≤ ${TARGET_IDLE}`,
        verdict(processorShare <= TARGET_IDLE),
      ],
    ],
  );
}

const at = ({ port, pid }: Child) => ({ port, serverPid: pid });

const run = (plan: SocketPlan): Promise<SocketResult> =>
  runBeside<SocketPlan, SocketResult>('socket-load.ts', plan);
