/**
 * A reader of changes that is far behind: reads to the newest one, in pages or as a stream.
 *
 * Reads a {@link ChangeReadPlan} as JSON from the file named by its argument; prints a {@link ChangeReadResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import type { ChangeList } from '@rollcall/protocol';
import { read } from './http.ts';
import { ownBytes, processorSeconds } from './process-usage.ts';

export interface ChangeReadPlan {
  readonly port: number;
  readonly token: string;
  readonly serverPid: number;
  readonly isStream: boolean;
  /** How many changes there are. */
  readonly count: number;
}

export interface ChangeReadResult {
  readonly changes: number;
  readonly seconds: number;
  /** Processor time of the server. */
  readonly processorSeconds: number;
  /** The server's resident memory without mapped files, after a tenth and at most. */
  readonly bytesAfterTenth: number;
  readonly bytesAtMost: number;
}

const PAGE = 10_000;
const SAMPLE_MS = 50;
const EVENT = '\nevent: ';

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as ChangeReadPlan;

let changes = 0;
let bytesAfterTenth = 0;
let bytesAtMost = 0;

function sample(): void {
  bytesAtMost = Math.max(bytesAtMost, ownBytes(plan.serverPid));
  if (changes < plan.count / 10) bytesAfterTenth = bytesAtMost;
}

async function readPages(): Promise<void> {
  for (let after = '', more = true; more; ) {
    const page: ChangeList = await read(plan, plan.token, `/v1/changes?limit=${PAGE}${after}`);
    changes += page.changes.length;
    after = `&after=${page.next}`;
    more = page.more;
  }
}

async function readStream(): Promise<void> {
  const { next } = await read<ChangeList>(plan, plan.token, '/v1/changes?after=latest');
  const headers = { authorization: `Bearer ${plan.token}`, accept: 'text/event-stream' };
  const answer = await fetch(`http://127.0.0.1:${plan.port}/v1/changes`, { headers });
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of answer.body as ReadableStream<Uint8Array>) {
    const text = rest + decoder.decode(bytes, { stream: true });
    const pieces = text.split(EVENT);
    changes += pieces.length - 1;
    // The last piece may have the beginning of a separator, or of the last position.
    rest = (pieces.at(-1) as string).slice(-2 * next.length);
    if (text.includes(`\nid: ${next}\n`)) break;
  }
}

sample();
const sampling = setInterval(sample, SAMPLE_MS);
const processorBefore = processorSeconds(plan.serverPid);
const begun = performance.now();
await (plan.isStream ? readStream() : readPages());
sample();
const result: ChangeReadResult = {
  changes,
  seconds: (performance.now() - begun) / 1_000,
  processorSeconds: processorSeconds(plan.serverPid) - processorBefore,
  bytesAfterTenth,
  bytesAtMost,
};
clearInterval(sampling);
console.log(JSON.stringify(result));
process.exit();
