/**
 * Sets users present a few milliseconds apart and watches them expire: how late after its deadline does a departure
 * reach a reader? The deadline is taken from the clock when the PUT was sent, so the PUT's own time counts as lateness.
 *
 * Reads an {@link ExpiryPlan} as JSON from the file named by its argument; prints an {@link ExpiryResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { openStreams, pause, sendJson, waitUntil } from './event-stream.ts';
import { type Percentiles, percentilesOf } from './percentiles.ts';

export interface ExpiryPlan {
  readonly port: number;
  readonly token: string;
  readonly group: string;
  readonly members: readonly string[];
  readonly ttlMs: number;
}

/** The ages are from the deadline to reading the departure. */
export interface ExpiryResult extends Percentiles {
  readonly missed: number;
}

/** How long after the last deadline a departure may come and still be counted. */
const PATIENCE_MS = 10_000;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as ExpiryPlan;
const { group, members, ttlMs } = plan;
const deadlines = new Map<string, number>();
const late: number[] = [];

function take(bytes: Buffer, now: number): void {
  for (const [, user = ''] of bytes.toString().matchAll(/event: departed\n[\s\S]*?"id":"([^"]+)"/g))
    late.push(now - (deadlines.get(user) ?? Number.NaN));
}

await openStreams({ ...plan, path: `/v1/groups/${group}/presence` }, 1, () => take);
for (const member of members) {
  deadlines.set(member, performance.now() + ttlMs);
  const body = { groupID: group, location: { page: 'the page' } };
  await sendJson({ ...plan, path: `/v1/users/${member}/presence` }, 'PUT', body);
  await pause(3);
}
await waitUntil(() => late.length === members.length, ttlMs + PATIENCE_MS);
const result: ExpiryResult = { ...percentilesOf(late), missed: members.length - late.length };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
