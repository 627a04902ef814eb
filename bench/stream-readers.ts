/**
 * Readers of a presence stream and the users who move, in one process, so that one clock times both. Every reader counts
 * the events that it gets; some of them also parse each event, to learn how old it is.
 *
 * Reads a {@link StreamPlan} as JSON from the file named by its argument; prints a {@link StreamResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { atRate, openStreams, pause, sendJson, waitUntil } from './event-stream.ts';
import { type Percentiles, percentilesOf } from './percentiles.ts';
import { processorSeconds, residentBytes } from './process-usage.ts';

export interface StreamPlan {
  readonly port: number;
  readonly token: string;
  readonly group: string;
  readonly members: readonly string[];
  readonly streams: number;
  /** How many of them take events apart. */
  readonly sampled: number;
  readonly movesPerSecond: number;
  readonly moves: number;
  /** The server's process, whose memory is read with all streams open and no updates. */
  readonly serverPid: number;
}

/** The ages are from sending a PUT to reading its event. */
export interface StreamResult extends Percentiles {
  /** Of the server while the users move, in seconds. */
  readonly processorSeconds: number;
  /** Bytes of the server's resident memory that each open stream added. */
  readonly bytesPerStream: number;
  readonly delivered: number;
  readonly expected: number;
}

const ARRIVED = Buffer.from('event: arrived');
/** How long after the last move an event may come and still be counted. */
const PATIENCE_MS = 5_000;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as StreamPlan;
const sentAt: number[] = [];
const ages: number[] = [];
let delivered = 0;

function count(bytes: Buffer): void {
  for (let at = bytes.indexOf(ARRIVED); at !== -1; at = bytes.indexOf(ARRIVED, at + ARRIVED.length)) {
    delivered += 1;
  }
}

function takeApart(bytes: Buffer, now: number): void {
  for (const [, move] of bytes.toString().matchAll(/event: arrived\n[\s\S]*?"paragraph":"move-(\d+)"/g)) {
    delivered += 1;
    ages.push(now - (sentAt[Number(move)] ?? Number.NaN));
  }
}

function put(user: string, paragraph: string): Promise<void> {
  const location = { page: 'the page', paragraph };
  const body = { groupID: plan.group, location, exclusiveWithin: { page: 'the page' } };
  return sendJson({ ...plan, path: `/v1/users/${user}/presence` }, 'PUT', body);
}

for (const member of plan.members) await put(member, 'the beginning');
await pause(1_000);
const before = residentBytes(plan.serverPid);
const stream = { ...plan, path: `/v1/groups/${plan.group}/presence` };
await openStreams(stream, plan.streams, (index) => (index < plan.sampled ? takeApart : count));
await pause(2_000);
const bytesPerStream = (residentBytes(plan.serverPid) - before) / plan.streams;
const processorBefore = processorSeconds(plan.serverPid);
await atRate(plan.moves, plan.movesPerSecond, (move) => {
  sentAt[move] = performance.now();
  return put(plan.members[move % plan.members.length] as string, `move-${move}`);
});
const expected = plan.moves * plan.streams;
await waitUntil(() => delivered >= expected, PATIENCE_MS);
const result: StreamResult = {
  ...{ bytesPerStream, delivered, expected },
  processorSeconds: processorSeconds(plan.serverPid) - processorBefore,
  ...percentilesOf(ages),
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
