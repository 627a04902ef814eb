/**
 * A reader of a stream on one process, and writes through another one, timed by one clock.
 *
 * Reads a {@link FollowingPlan} as JSON from the file named by its argument; prints a {@link FollowingResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { atRate, openStreams, pause, sendJson, waitUntil } from './event-stream.ts';
import { type Percentiles, percentilesOf } from './percentiles.ts';

export interface FollowingPlan {
  /** The process of the reader, and that of the writes. */
  readonly port: number;
  readonly writePort: number;
  readonly token: string;
  readonly group: string;
  readonly members: readonly string[];
  readonly writes: number;
  readonly perSecond: number;
}

/** The ages are from sending a write to reading its event. */
export interface FollowingResult extends Percentiles {
  readonly delivered: number;
}

/** How long after the last write an event may come and still be counted. */
const PATIENCE_MS = 5_000;
/** The first writes warm up the processes. */
const WARM_UP = 20;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as FollowingPlan;
const sentAt: number[] = [];
const ages: number[] = [];

function take(bytes: Buffer, now: number): void {
  for (const [, write] of bytes.toString().matchAll(/event: durable\n[\s\S]*?"line":"(\d+)"/g))
    ages[Number(write)] ??= now - (sentAt[Number(write)] ?? Number.NaN);
}

await openStreams({ ...plan, path: `/v1/groups/${plan.group}/presence` }, 1, () => take);
await pause(2_000);
await atRate(plan.writes + WARM_UP, plan.perSecond, (write) => {
  sentAt[write] = performance.now();
  const user = plan.members[write % plan.members.length] as string;
  const body = {
    ...{ groupID: plan.group, durable: true },
    ...{ location: { page: '1', line: `${write}` }, exclusiveWithin: { page: '1' } },
  };
  return sendJson(
    { port: plan.writePort, token: plan.token, path: `/v1/users/${user}/presence` },
    'PUT',
    body,
  );
});
await waitUntil(() => ages.filter(() => true).length === plan.writes + WARM_UP, PATIENCE_MS);
const measured = ages.slice(WARM_UP).filter((age) => age !== undefined);
const result: FollowingResult = { delivered: measured.length, ...percentilesOf(measured) };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
