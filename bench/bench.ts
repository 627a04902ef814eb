/**
 * `npm run bench`: what Rollcall does per second beside what the same machine does without it, in one run.
 * `npm run bench -- operations batch` runs only the named parts; `--quick` shortens the rounds.
 */
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import type { Pace } from './measure.ts';
import { batchPart } from './part-batch.ts';
import { largeBodiesPart } from './part-large-bodies.ts';
import { memoryPart } from './part-memory.ts';
import { operationsPart } from './part-operations.ts';
import { presencePart } from './part-presence.ts';
import { scalePart } from './part-scale.ts';
import { scaleOutPart } from './part-scale-out.ts';
import { canPin } from './processes.ts';
import { say } from './report.ts';

const PARTS: Readonly<Record<string, (pace: Pace) => Promise<void>>> = {
  operations: operationsPart,
  batch: batchPart,
  'large-bodies': largeBodiesPart,
  memory: memoryPart,
  presence: presencePart,
  scale: scalePart,
  'scale-out': scaleOutPart,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' } },
});
const unknown = positionals.filter((part) => !Object.hasOwn(PARTS, part));
if (unknown.length > 0) {
  console.error(`no such part: ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}

const [cpu] = cpus();
say(
  `Machine: ${cpu?.model ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()} ${arch()}, Node ${process.version}`,
);
say(canPin ? 'Server on one core, load on another.' : 'Cores cannot be pinned here: ratios are rough.');
say();
const pace: Pace = values.quick ? { rounds: 1, seconds: 1 } : { rounds: 3, seconds: 2 };
for (const part of positionals.length > 0 ? positionals : Object.keys(PARTS)) await PARTS[part]?.(pace);
