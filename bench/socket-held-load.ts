/**
 * Pages with sockets that hold many locations and do nothing else, on Redis.
 * Reads a {@link HeldPlan} as JSON from the file named by its argument; prints a {@link HeldResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { projectToken } from './credentials.ts';
import { pause } from './event-stream.ts';
import { read } from './http.ts';
import { processorSeconds } from './process-usage.ts';
import { redisProcessorSeconds } from './scale-out-servers.ts';
import { openSockets } from './socket-client.ts';
import { authFrame, type Page } from './socket-pages.ts';

export interface HeldPlan {
  readonly port: number;
  readonly serverPid: number;
  readonly pages: readonly Page[];
  readonly locationsEach: number;
  readonly seconds: number;
}

export interface HeldResult {
  /** Processor time of Redis and of the server, as a share of one core. */
  readonly redisShare: number;
  readonly processorShare: number;
  /** The locations that are present in the end. */
  readonly held: number;
}

interface Reading {
  readonly users: readonly { readonly ephemeral: { readonly locations: readonly unknown[] } }[];
}

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as HeldPlan;

async function countHeld(): Promise<number> {
  const token = await projectToken();
  let held = 0;
  for (const group of new Set(plan.pages.map(({ groupId }) => groupId))) {
    const { users } = await read<Reading>(plan, token, `/v1/groups/${group}/presence`);
    for (const { ephemeral } of users) held += ephemeral.locations.length;
  }
  return held;
}

await openSockets(plan.port, plan.pages.length, async (index) => [
  await authFrame(plan.pages[index] as Page),
  ...Array.from({ length: plan.locationsEach }, (_, index) => ({
    ...{ op: 'present', ref: 2 },
    location: { page: 'the page', paragraph: `paragraph-${index}` },
  })),
]);
await pause(1_000);
const redisBefore = await redisProcessorSeconds();
const processorBefore = processorSeconds(plan.serverPid);
const begun = performance.now();
await pause(plan.seconds * 1_000);
const seconds = (performance.now() - begun) / 1_000;
const redisTime = (await redisProcessorSeconds()) - redisBefore;
const processorTime = processorSeconds(plan.serverPid) - processorBefore;
const result: HeldResult = {
  redisShare: redisTime / seconds,
  processorShare: processorTime / seconds,
  held: await countHeld(),
};
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
