/**
 * Pages with sockets, in one process: those who move, each at most as often as the server accepts, and those who watch.
 * Reads a {@link SocketPlan} as JSON from the file named by its argument; prints a {@link SocketResult} as JSON.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mintClientToken } from '../packages/server/src/auth/sign.ts';
import { PROJECT } from './credentials.ts';
import { pause } from './event-stream.ts';
import { processorSeconds } from './processor-time.ts';
import { residentBytes } from './resident-bytes.ts';
import { type BenchSocket, clientFrame, openSockets } from './socket-client.ts';

export interface SocketPlan {
  readonly port: number;
  readonly serverPid: number;
  /** The pages that move, and those that only watch. The user of each is a member of its group. */
  readonly movers: readonly Page[];
  readonly watchers: readonly Page[];
  /** The movers watch too. */
  readonly moversWatch?: boolean;
  /** Frames are sent back as they are: nobody logs in. */
  readonly isBare?: boolean;
  readonly seconds: number;
  /** Default: as many as the server answers, with this many under way. */
  readonly movesPerSecond?: number;
  /** Where the server writes its memory after a collection, see collect-on-signal.ts. */
  readonly memoryFile?: string;
}

export interface Page {
  readonly userId: string;
  readonly groupId: string;
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
  /** Of each socket, after a collection: heap and buffers; resident. */
  readonly heapBytes: number;
  readonly residentBytes: number;
}

const UNDER_WAY_MAX = 256;
/** Before the measurement, so many moves are made as fast as they can be, for so long at most: the server compiles its code. */
const WARM_UP_MOVES = 60_000;
const WARM_UP_MAX_SECONDS = 20;
/** Each mover sends less often than the server allows. */
const MOVE_INTERVAL_MS = 22;
/** A mover alternates between so many prepared locations. */
const LOCATIONS = 2;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as SocketPlan;

async function firstFrames({ userId, groupId }: Page, watches: boolean, holds: boolean): Promise<object[]> {
  if (plan.isBare === true) return [];
  const token = await mintClientToken(userId, groupId)(PROJECT.id, PROJECT.secret, Date.now());
  return [
    { op: 'auth', ref: 1, token },
    ...(watches ? [{ op: 'watch', ref: 2 }] : []),
    ...(holds ? [moveFrame(0, 0)] : []),
  ];
}

const moveFrame = (mover: number, location: number) => ({
  ref: 3 + location,
  op: 'present',
  location: { page: 'the page', paragraph: `paragraph-${mover}-${location}` },
  exclusiveWithin: { page: 'the page' },
});

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

/** Sends moves until the time is over, or so many; resolves to how long they took. */
async function move(
  movers: readonly BenchSocket[],
  seconds: number,
  movesPerSecond: number | undefined,
  movesMax: number,
): Promise<number[]> {
  const frames = movers.map((_, mover) =>
    Array.from({ length: LOCATIONS }, (_, index) => clientFrame(JSON.stringify(moveFrame(mover, index)))),
  );
  const dueAt = new Float64Array(movers.length);
  const sentAt = new Float64Array(movers.length).fill(-1_000);
  const isBusy = new Uint8Array(movers.length);
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  const intervalMs = movesPerSecond === undefined ? 0 : 1_000 / movesPerSecond;
  let next = 0;
  let moves = 0;
  let underWay = 0;
  let due = begin;
  for (const [mover, socket] of movers.entries())
    socket.onAnswer = () => {
      if (isBusy[mover] === 0) return;
      isBusy[mover] = 0;
      underWay -= 1;
      latencies.push(performance.now() - (dueAt[mover] as number));
    };
  const mayMove = (now: number) =>
    (intervalMs > 0 || underWay < UNDER_WAY_MAX) &&
    now < end &&
    moves < movesMax &&
    due <= now &&
    isBusy[next] === 0 &&
    (plan.isBare === true || now - (sentAt[next] as number) >= MOVE_INTERVAL_MS);
  for (;;) {
    let now = performance.now();
    while (mayMove(now)) {
      dueAt[next] = intervalMs > 0 ? due : now;
      sentAt[next] = now;
      isBusy[next] = 1;
      underWay += 1;
      (movers[next] as BenchSocket).send(
        frames[next]?.[(Math.floor(moves / movers.length) % LOCATIONS) ^ 1] as Buffer,
      );
      next = next + 1 === movers.length ? 0 : next + 1;
      moves += 1;
      due += intervalMs;
      now = performance.now();
    }
    if ((now >= end || moves >= movesMax) && (underWay === 0 || now > end + 5_000)) break;
    await new Promise(setImmediate);
  }
  return latencies;
}

const before = await memory();
const watching = await openSockets(plan.port, plan.watchers.length, (index) =>
  firstFrames(plan.watchers[index] as Page, true, false),
);
const moving = await openSockets(plan.port, plan.movers.length, (index) =>
  firstFrames(plan.movers[index] as Page, plan.moversWatch === true, true),
);
await pause(1_000);
const after = await memory();
const sockets = watching.length + moving.length;
const warmUp =
  plan.movesPerSecond === 0 ? [] : await move(moving, WARM_UP_MAX_SECONDS, undefined, WARM_UP_MOVES);
const eventsSeen = () => watching.reduce((sum, one) => sum + one.events, 0);
const eventsBefore = eventsSeen();
const processorBefore = processorSeconds(plan.serverPid);
const begun = performance.now();
let latencies: number[] = [];
if (plan.movesPerSecond === 0) await pause(plan.seconds * 1_000);
else latencies = await move(moving, plan.seconds, plan.movesPerSecond, Number.POSITIVE_INFINITY);
const seconds = (performance.now() - begun) / 1_000;
const processorTime = processorSeconds(plan.serverPid) - processorBefore;
const sorted = Float64Array.from(latencies).sort();
const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const result: SocketResult = {
  movesInAll: warmUp.length + latencies.length,
  movesPerSecond: sorted.length / seconds,
  processorMicroseconds: (processorTime * 1e6) / sorted.length,
  processorShare: processorTime / seconds,
  p50: at(0.5),
  p99: at(0.99),
  eventsPerSecond: (eventsSeen() - eventsBefore) / seconds,
  heapBytes: (after.used - before.used) / sockets,
  residentBytes: (after.resident - before.resident) / sockets,
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
