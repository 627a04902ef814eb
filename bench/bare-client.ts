/**
 * The rate of PostgreSQL or Redis for a client that does nothing else: as many callers as the HTTP load has connections, each
 * with one call at a time, sent pipelined. Reads a {@link BarePlan} from the file named by its argument; prints
 * `{"requestsPerSecond": …}`.
 */
import { readFileSync } from 'node:fs';
import { type BareTarget, bareCall } from './bare-calls.ts';

export interface BarePlan extends BareTarget {
  readonly callers: number;
  readonly seconds: number;
}

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as BarePlan;
const call = await bareCall(plan);
const begin = performance.now();
const end = begin + plan.seconds * 1_000;
let calls = 0;
await Promise.all(
  Array.from({ length: plan.callers }, async (_, caller) => {
    // Each caller begins elsewhere, so that no two update one row at once.
    let step = Math.floor((caller * plan.groups.length) / plan.callers);
    while (performance.now() < end) {
      await call(step);
      step += 1;
      calls += 1;
    }
  }),
);
const requestsPerSecond = (calls * 1_000) / (performance.now() - begin);
process.stdout.write(`${JSON.stringify({ requestsPerSecond })}\n`, () => process.exit(0));
