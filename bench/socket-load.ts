/**
 * Pages with sockets, in one process: those that update where they are, and those that watch.
 * Reads a {@link SocketPlan} as JSON from the file named by its argument; prints a {@link SocketResult} as JSON.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { projectToken } from './credentials.ts';
import { pause } from './event-stream.ts';
import { read } from './http.ts';
import { percentilesOf } from './percentiles.ts';
import { processorSeconds, residentBytes } from './process-usage.ts';
import { openSockets } from './socket-client.ts';
import { type Change, MovingPages, stampedFrame } from './socket-moves.ts';
import { authFrame, type Page } from './socket-pages.ts';
import { SocketReaders } from './socket-readers.ts';

export interface SocketPlan {
  readonly port: number;
  readonly serverPid: number;
  /** The pages that move, and those that only watch. The user of each is a member of its group. */
  readonly movers: readonly Page[];
  readonly watchers: readonly Page[];
  /** The movers watch too. */
  readonly moversWatch?: boolean;
  /** What a move changes. Default: the location. */
  readonly change?: Change;
  /** Each mover alternates between so many locations. Default: it never comes back. */
  readonly locations?: number;
  /** The events are read, timed, and compared with the server's reading. The locations must be different ones. */
  readonly readsEvents?: boolean;
  /** Frames are sent back as they are: nobody logs in. */
  readonly isBare?: boolean;
  readonly seconds: number;
  /** Default: as many as the server answers, with a number of them under way. */
  readonly movesPerSecond?: number;
  /** Where the server writes its memory after a collection, see collect-on-signal.ts. */
  readonly memoryFile?: string;
}

export interface SocketResult {
  /** With those of the warm-up. */
  readonly movesInAll: number;
  readonly movesPerSecond: number;
  /** Processor time of the server for each move, in microseconds, and its share of one core. */
  readonly processorMicroseconds: number;
  readonly processorShare: number;
  /** From the time when a move was due to its answer, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly eventsPerSecond: number;
  readonly events: number;
  /** One of each move for each reader of its group. */
  readonly eventsDue: number;
  /** From the time when a move was due to the event with it, or with a later move of its page, in milliseconds. */
  readonly eventP50: number;
  readonly eventP99: number;
  readonly readers: number;
  /** The readers whose state in the end is the server's reading. */
  readonly levelReaders: number;
  /** Of each socket, after a collection: heap and buffers; resident. */
  readonly heapBytes: number;
  readonly residentBytes: number;
}

/** Before the measurement, so many moves are made as fast as they can be, for so long at most: the server compiles its code. */
const WARM_UP_MOVES = 60_000;
const WARM_UP_MAX_SECONDS = 20;
/** How long readers have to get the last events, in milliseconds. */
const LEVEL_WITHIN_MS = 10_000;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as SocketPlan;
const { movers, watchers, moversWatch = false, change = 'location' } = plan;
const reading = moversWatch ? [...watchers, ...movers] : watchers;
const readers = plan.readsEvents === true ? new SocketReaders(reading.length, movers.length) : null;

async function firstFrames(page: Page, watches: boolean, holds: readonly object[]): Promise<object[]> {
  if (plan.isBare === true) return [];
  const watch = { op: 'watch', ref: 2, ...(change === 'data' && { expand: 'data' }) };
  return [await authFrame(page), ...(watches ? [watch] : []), ...holds];
}

/** What the reader of this number does with its events. */
const onEventOf = (reader: number) =>
  readers === null
    ? undefined
    : (bytes: Buffer, from: number, end: number) => readers.receive(reader, bytes, from, end);

interface Memory {
  readonly used: number;
  readonly resident: number;
}

/** Of the server after a collection; zeros where it does not collect. */
async function memory(): Promise<Memory> {
  const { memoryFile, serverPid } = plan;
  if (memoryFile === undefined) return { used: 0, resident: 0 };
  rmSync(memoryFile, { force: true });
  process.kill(serverPid, 'SIGUSR2');
  while (!existsSync(memoryFile) || readFileSync(memoryFile).length === 0) await pause(50);
  const { heapUsed, external } = JSON.parse(readFileSync(memoryFile, 'utf8')) as NodeJS.MemoryUsage;
  return { used: heapUsed + external, resident: residentBytes(serverPid) };
}

const numbersIn = (all: readonly Page[], groupId: string) =>
  [...all.keys()].filter((index) => all[index]?.groupId === groupId);

/** How many readers have what the server reads. Waits until all of them do, for a time. */
async function countLevel(): Promise<number> {
  if (readers === null) return 0;
  const token = await projectToken();
  const end = performance.now() + LEVEL_WITHIN_MS;
  for (;;) {
    let level = 0;
    for (const group of new Set(reading.map(({ groupId }) => groupId))) {
      const presence = await read(plan, token, `/v1/groups/${group}/presence?expand=data`);
      const bytes = Buffer.from(JSON.stringify(presence));
      level += readers.countLevel(numbersIn(reading, group), numbersIn(movers, group), bytes);
    }
    if (level === reading.length || performance.now() > end) return level;
    await pause(50);
  }
}

const before = await memory();
const watching = await openSockets(
  plan.port,
  watchers.length,
  (index) => firstFrames(watchers[index] as Page, true, []),
  onEventOf,
);
const moving = await openSockets(
  plan.port,
  movers.length,
  (index) => firstFrames(movers[index] as Page, moversWatch, [stampedFrame(index, change).first]),
  (index) => (moversWatch ? onEventOf(watchers.length + index) : undefined),
);
await pause(1_000);
const after = await memory();
const pages = new MovingPages(moving, {
  change,
  different: plan.locations,
  isBare: plan.isBare === true,
  onMove: (page, dueAt) => readers?.updated(page, dueAt),
});
const { seconds: plannedSeconds, movesPerSecond } = plan;
const isIdle = movesPerSecond === 0;
const warmUp = isIdle ? [] : await pages.move({ seconds: WARM_UP_MAX_SECONDS, movesMax: WARM_UP_MOVES });
await countLevel();
if (readers !== null) readers.ages = [];
const eventsSeen = () =>
  [...watching, ...(moversWatch ? moving : [])].reduce((sum, one) => sum + one.events, 0);
const eventsBefore = eventsSeen();
const processorBefore = processorSeconds(plan.serverPid);
const begun = performance.now();
let latencies: number[] = [];
if (isIdle) await pause(plannedSeconds * 1_000);
else latencies = await pages.move({ seconds: plannedSeconds, movesPerSecond });
const seconds = (performance.now() - begun) / 1_000;
const processorTime = processorSeconds(plan.serverPid) - processorBefore;
const eventsInTime = eventsSeen() - eventsBefore;
const levelReaders = await countLevel();
const sockets = watching.length + moving.length;
const answers = percentilesOf(latencies);
const events = percentilesOf(readers?.ages ?? []);
const result: SocketResult = {
  movesInAll: warmUp.length + latencies.length,
  movesPerSecond: latencies.length / seconds,
  processorMicroseconds: (processorTime * 1e6) / latencies.length,
  processorShare: processorTime / seconds,
  p50: answers.p50,
  p99: answers.p99,
  eventsPerSecond: eventsInTime / seconds,
  events: eventsSeen() - eventsBefore,
  eventsDue: (latencies.length * reading.length) / new Set(movers.map(({ groupId }) => groupId)).size,
  eventP50: events.p50,
  eventP99: events.p99,
  readers: reading.length,
  levelReaders,
  heapBytes: (after.used - before.used) / sockets,
  residentBytes: (after.resident - before.resident) / sockets,
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
