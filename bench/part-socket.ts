import { join } from 'node:path';
import { projectToken } from './credentials.ts';
import type { Pace } from './measure.ts';
import { type Child, freshDirectory, runBeside, startRollcall, startServer } from './processes.ts';
import { atLeast, atMost, figure, figures, one, print, two, verdict, whole } from './report.ts';
import { departures } from './socket-departures.ts';
import { heldOnRedis } from './socket-held-on-redis.ts';
import type { SocketPlan, SocketResult } from './socket-load.ts';
import { fill, pages } from './socket-pages.ts';

const GROUPS = 100;
const MOVERS = 2_000;
/** Each mover alternates between so many. */
const LOCATIONS = 2;
const READERS = 1_000;
const READ_MOVES_PER_SECOND = 200;
const CURSOR_GROUPS = 50;
const CURSORS_EACH = 20;
const CURSOR_UPDATES_PER_SECOND = 20;
const HELD = 5_000;
const IDLE_SECONDS = 15;

const TARGET_SHARE = 0.5;
const TARGET_RATE = 60_000;
const TARGET_MICROSECONDS = 13;
const TARGET_HALF_P99_MS = 5;
const TARGET_READERS_SHARE = 0.8;
const TARGET_READERS_P99_MS = 20;
const TARGET_CURSORS_P99_MS = 200;
const TARGET_BYTES = 12_000;
const TARGET_IDLE = 0.05;

/** A plan without the server that it is for. */
type MovesPlan = Omit<SocketPlan, 'port' | 'serverPid'>;
type Selection = { readonly only: string; readonly directories: readonly string[] };

const MEASUREMENTS: Readonly<
  Record<string, (pace: Pace, token: string, selection: Selection) => Promise<void>>
> = {
  async moves({ seconds }, token, { directories }) {
    for (const directory of directories) await moves(seconds * 2, token, directory);
  },
  readers,
  cursors,
  departures,
  held,
  'held on Redis': heldOnRedis,
};

/** The socket: pages that move and pages that watch, many of both; pages that leave; and pages that do nothing. */
export async function socketPart(pace: Pace, selection: Selection): Promise<void> {
  const token = await projectToken();
  for (const [name, measure] of Object.entries(MEASUREMENTS))
    if (name.includes(selection.only)) await measure(pace, token, selection);
}

async function moves(seconds: number, token: string, directory: string): Promise<void> {
  print(
    `### Socket: ${whole(MOVERS)} pages move in ${GROUPS} groups with a watcher each, server of ${directory}`,
  );
  print();
  const movers = pages(MOVERS, GROUPS, 'mover');
  const watchers = pages(GROUPS, GROUPS, 'watcher');
  const ofBare = { movers, locations: LOCATIONS, isBare: true, seconds };
  const echo = await runBare([], { ...ofBare, watchers: [] });
  const twice = await runBare([String(GROUPS)], { ...ofBare, watchers });
  const map = await runBare([String(GROUPS), 'map'], { ...ofBare, watchers });
  const all = { movers, watchers, locations: LOCATIONS, seconds };
  const runServer = async (plan: MovesPlan) => {
    await using server = await startRollcall({ directory });
    await fill(server, token, [...movers, ...watchers]);
    const result = await run({ ...at(server), ...plan });
    return result;
  };
  const full = await runServer(all);
  const movesPerSecond = full.movesPerSecond / 2;
  const half = await runServer({ ...all, movesPerSecond });
  const echoAtHalf = await runBare([], { ...ofBare, watchers: [], movesPerSecond });
  const mapAtHalf = await runBare([String(GROUPS), 'map'], { ...ofBare, watchers, movesPerSecond });
  figures([
    figure('bare echo, messages a second', whole(echo.movesPerSecond)),
    figure('bare echo, processor µs of a message', one(echo.processorMicroseconds)),
    figure('limit: a bare echo and one more write, processor µs', one(twice.processorMicroseconds)),
    figure('a bare map: moves a second', whole(map.movesPerSecond)),
    figure('a bare map: share of bare echo', two(map.movesPerSecond / echo.movesPerSecond)),
    figure('a bare map: processor µs of a move and its event', one(map.processorMicroseconds)),
    atLeast('moves a second', full.movesPerSecond, TARGET_RATE, whole),
    atLeast('share of bare echo', full.movesPerSecond / echo.movesPerSecond, TARGET_SHARE, two),
    atMost('processor µs of a move and its event', full.processorMicroseconds, TARGET_MICROSECONDS, one),
    figure('events of the watchers a second', whole(full.eventsPerSecond)),
    figure('from a move to its answer at the full rate, p50 ms', two(full.p50)),
    figure('from a move to its answer at the full rate, p99 ms', two(full.p99)),
    figure('processor µs at half of the rate', one(half.processorMicroseconds)),
    figure('from a move to its answer at half of the rate, p50 ms', two(half.p50)),
    atMost('from a move to its answer at half of the rate, p99 ms', half.p99, TARGET_HALF_P99_MS, two),
    figure('bare echo at this rate, processor µs', one(echoAtHalf.processorMicroseconds)),
    figure('bare echo at this rate, p99 ms', two(echoAtHalf.p99)),
    figure('a bare map at this rate, processor µs', one(mapAtHalf.processorMicroseconds)),
    figure('a bare map at this rate, p99 ms', two(mapAtHalf.p99)),
  ]);
}

async function readers({ seconds }: Pace, token: string): Promise<void> {
  print(`### Socket: ${whole(READERS)} readers of one group, ${READ_MOVES_PER_SECOND} moves a second`);
  print();
  const movers = pages(10, 1, 'mover');
  const watchers = pages(READERS, 1, 'watcher');
  await using server = await startRollcall();
  await fill(server, token, [...movers, ...watchers]);
  const result = await run({
    ...{ ...at(server), movers, watchers, readsEvents: true },
    ...{ seconds: seconds * 4, movesPerSecond: READ_MOVES_PER_SECOND },
  });
  const { processorShare, eventsPerSecond, events, eventsDue, eventP50, eventP99 } = result;
  figures([
    atMost('share of a core', processorShare, TARGET_READERS_SHARE, two),
    figure('events of all readers a second', whole(eventsPerSecond)),
    ['events delivered of those due', whole(events), whole(eventsDue), verdict(events === eventsDue)],
    figure('from a move to its event, p50 ms', two(eventP50)),
    atMost('from a move to its event, p99 ms', eventP99, TARGET_READERS_P99_MS, two),
    levelRow(result),
  ]);
}

async function cursors({ seconds }: Pace, token: string): Promise<void> {
  const rate = CURSOR_UPDATES_PER_SECOND;
  print(
    `### Socket: ${CURSORS_EACH} cursors in each of ${CURSOR_GROUPS} groups, ${rate} updates a second of each`,
  );
  print();
  const movers = pages(CURSOR_GROUPS * CURSORS_EACH, CURSOR_GROUPS, 'cursor');
  await using server = await startRollcall();
  await fill(server, token, movers);
  const result = await run({
    ...{ ...at(server), movers, watchers: [], moversWatch: true, change: 'data', readsEvents: true },
    ...{ seconds: seconds * 4, movesPerSecond: movers.length * rate },
  });
  const { movesPerSecond, processorShare, eventsPerSecond, events, eventsDue, eventP50, eventP99 } = result;
  const age = 'from an update to its event, or a later one of the cursor';
  figures([
    figure(`updates a second of ${whole(movers.length * rate)}`, whole(movesPerSecond)),
    figure('share of a core', two(processorShare)),
    figure('events of all readers a second', whole(eventsPerSecond)),
    figure('events delivered of one for each update and reader', two(events / eventsDue)),
    figure(`${age}, p50 ms`, two(eventP50)),
    atMost(`${age}, p99 ms`, eventP99, TARGET_CURSORS_P99_MS, two),
    levelRow(result),
  ]);
}

const levelRow = ({ readers: count, levelReaders }: SocketResult) => [
  "readers whose state in the end is the server's reading",
  whole(levelReaders),
  whole(count),
  verdict(levelReaders === count),
];

async function held(_pace: Pace, token: string): Promise<void> {
  print(`### Socket: ${whole(HELD)} sockets that watch and hold a presence`);
  print();
  const memoryFile = join(freshDirectory(), 'memory.json');
  const movers = pages(HELD, GROUPS, 'mover');
  await using server = await startRollcall({ memoryFile, presenceTtlSeconds: 30 });
  await fill(server, token, movers);
  const plan = { movers, watchers: [], moversWatch: true, seconds: IDLE_SECONDS, movesPerSecond: 0 };
  const { heapBytes, residentBytes, processorShare } = await run({ ...at(server), ...plan, memoryFile });
  figures([
    atMost('heap and buffers of a socket after a collection, bytes', heapBytes, TARGET_BYTES, whole),
    figure('resident memory of a socket after a collection, bytes', whole(residentBytes)),
    atMost('share of a core while nothing happens', processorShare, TARGET_IDLE, two),
  ]);
}

async function runBare(parameters: readonly string[], plan: MovesPlan): Promise<SocketResult> {
  await using bare = await startServer('bare-socket-server.ts', ...parameters);
  const result = await run({ ...at(bare), ...plan });
  return result;
}

const at = ({ port, pid }: Child) => ({ port, serverPid: pid });

const run = (plan: SocketPlan): Promise<SocketResult> =>
  runBeside<SocketPlan, SocketResult>('socket-load.ts', plan);
