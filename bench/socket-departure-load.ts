/**
 * Pages whose connections end, each a moment after the other, and a watcher who gets their departures.
 * Reads a {@link DeparturePlan} as JSON from the file named by its argument; prints a {@link DepartureResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { pause, waitUntil } from './event-stream.ts';
import { percentilesOf } from './percentiles.ts';
import { openSockets } from './socket-client.ts';
import { authFrame, type Page } from './socket-pages.ts';

/** The names of what a page's connection can do. */
export type Ending = 'close' | 'reset' | 'vanish';

export interface DeparturePlan {
  readonly port: number;
  readonly watcher: Page;
  readonly pages: readonly Page[];
  readonly ending: Ending;
}

/** From the end of the connection to the event, in milliseconds. */
export interface DepartureResult {
  readonly p50: number;
  readonly max: number;
  readonly missed: number;
}

/** The server counts in ticks of a second, so the ends are at different times within one. */
const APART_MS = 110;
const WITHIN_MS = 20_000;
const PRESENT = { op: 'present', ref: 2, location: { page: 'the page' } };

interface Departed {
  readonly event: string;
  readonly data: { readonly id: string };
}

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as DeparturePlan;
const endedAt = new Map<string, number>();
const ages: number[] = [];

function onEvent(bytes: Buffer, from: number, end: number): void {
  const { event, data } = JSON.parse(bytes.toString('utf8', from, end)) as Departed;
  if (event === 'departed') ages.push(performance.now() - (endedAt.get(data.id) ?? Number.NaN));
}

const leaving = await openSockets(plan.port, plan.pages.length, async (index) => [
  await authFrame(plan.pages[index] as Page),
  PRESENT,
]);
await openSockets(
  plan.port,
  1,
  async () => [await authFrame(plan.watcher), { op: 'watch', ref: 2 }],
  () => onEvent,
);
for (const [index, page] of leaving.entries()) {
  // The server has just received a frame: a silent page would be missed sooner.
  await page.request(PRESENT);
  endedAt.set((plan.pages[index] as Page).userId, performance.now());
  page[plan.ending]();
  await pause(APART_MS);
}
await waitUntil(() => ages.length === plan.pages.length, WITHIN_MS);
const { p50, max } = percentilesOf(ages);
const result: DepartureResult = { p50, max, missed: plan.pages.length - ages.length };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
