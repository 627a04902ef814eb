/**
 * `npm run bench`: what Rollcall does per second beside what the same machine does without it, in one run.
 *
 * - `npm run bench -- operations batch` runs only the named parts.
 * - `--quick` shortens the rounds: for a first look, not for a claim.
 * - `--server-directory DIR` measures the operations of the server in another checkout. Given more than once, all of them are
 *   measured in the same rounds; of `socket`, the moves of one after the other, so name them alternately.
 * - `--only TEXT` measures only the operations (of `scale-out`: also `batch`; of `conversation`: the engines; of `socket`: `moves`,
 *   `readers`, `cursors`, `departures`, `held`, `held on Redis`) whose name contains the text; `--rounds N` measures each N times.
 * - `--changes N` is the number of changes of `changes` and `change-proof`; the latter runs only when it is named.
 * - `--threads N`, `--messages N` and `--deleted-messages N` are the sizes of `conversation`.
 */
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Pace } from './measure.ts';
import { batchPart } from './part-batch.ts';
import { type ChangesSelection, changeProofPart, changesPart } from './part-changes.ts';
import { type ConversationSelection, conversationPart } from './part-conversation.ts';
import { costsPart } from './part-costs.ts';
import { followingPart } from './part-following.ts';
import { largeBodiesPart } from './part-large-bodies.ts';
import { memoryPart } from './part-memory.ts';
import { operationsPart } from './part-operations.ts';
import { presencePart } from './part-presence.ts';
import { scalePart } from './part-scale.ts';
import { scaleOutPart } from './part-scale-out.ts';
import { socketPart } from './part-socket.ts';
import { canPin, stopLoad } from './processes.ts';
import { print } from './report.ts';

type AllSelections = ConversationSelection & ChangesSelection;

const PARTS: Readonly<Record<string, (pace: Pace, selection: AllSelections) => Promise<void>>> = {
  operations: operationsPart,
  batch: batchPart,
  'large-bodies': largeBodiesPart,
  memory: memoryPart,
  presence: presencePart,
  socket: socketPart,
  scale: scalePart,
  'scale-out': scaleOutPart,
  conversation: conversationPart,
  changes: changesPart,
  'change-proof': changeProofPart,
  following: followingPart,
  costs: costsPart,
};
/** A part that proves instead of measuring. */
const ON_REQUEST = ['change-proof'];
const FULL: Pace = { rounds: 3, seconds: 2 };
const QUICK: Pace = { rounds: 1, seconds: 0.6 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    only: { type: 'string' },
    'server-directory': { type: 'string', multiple: true },
    changes: { type: 'string', default: '1000000' },
    threads: { type: 'string', default: '10000' },
    messages: { type: 'string', default: '1000000' },
    'deleted-messages': { type: 'string', default: '1000000' },
  },
});
const unknown = positionals.filter((part) => !Object.hasOwn(PARTS, part));
if (unknown.length > 0) {
  console.error(`no such part: ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}

const [cpu] = cpus();
const machine = `${cpu?.model ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`;
const system = `${platform()} ${release()} ${arch()}, Node ${process.version}`;
print(`Machine: ${machine}, ${system}; load average ${loadavg()[0]?.toFixed(1)} before the bench.`);
print(canPin ? 'Server on one core, load on another.' : 'Cores cannot be pinned here: ratios are rough.');
print();
const pace = values.quick ? QUICK : { ...FULL, rounds: Number(values.rounds ?? FULL.rounds) };
const directories = (values['server-directory'] ?? [new URL('..', import.meta.url).pathname]).map(
  (directory) => resolve(directory),
);
const selection: AllSelections = {
  directories,
  only: values.only ?? '',
  conversation: { threads: Number(values.threads), messages: Number(values.messages) },
  changes: Number(values.changes),
  deletedMessages: Number(values['deleted-messages']),
};
const usual = Object.keys(PARTS).filter((part) => !ON_REQUEST.includes(part));
for (const part of positionals.length > 0 ? positionals : usual) await PARTS[part]?.(pace, selection);
stopLoad();
