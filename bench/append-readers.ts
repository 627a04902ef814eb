/**
 * Readers of the stream of a thread, and callers who append to one of its messages, in one process, so that one clock times
 * both. Every appended text has one mark; every reader counts the marks that it gets, and some of them parse each text, to
 * learn how old it is.
 *
 * Reads an {@link AppendPlan} as JSON from the file named by its argument; prints an {@link AppendResult} as JSON.
 */
import { readFileSync } from 'node:fs';
import { atRate, openStreams, sendJson, waitUntil } from './event-stream.ts';
import { type Percentiles, percentilesOf } from './percentiles.ts';

export interface AppendPlan {
  readonly port: number;
  readonly token: string;
  readonly thread: string;
  readonly message: string;
  readonly readers: number;
  /** How many of them parse texts. */
  readonly sampled: number;
  readonly appendsPerSecond: number;
  readonly appends: number;
}

/** The ages are from sending an append to reading its text. */
export interface AppendResult extends Percentiles {
  readonly delivered: number;
  readonly expected: number;
}

const MARK = '~';
const MARK_BYTE = MARK.charCodeAt(0);
/** How long after the last append a text may come and still be counted. */
const PATIENCE_MS = 5_000;

const plan = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as AppendPlan;
const sentAt: number[] = [];
const ages: number[] = [];
let delivered = 0;

function count(bytes: Buffer): void {
  for (let at = bytes.indexOf(MARK_BYTE); at !== -1; at = bytes.indexOf(MARK_BYTE, at + 1)) delivered += 1;
}

function parse(bytes: Buffer, now: number): void {
  for (const [, append] of bytes.toString().matchAll(new RegExp(`${MARK}(\\d+)`, 'g'))) {
    delivered += 1;
    ages.push(now - (sentAt[Number(append)] ?? Number.NaN));
  }
}

const path = `/v1/threads/${plan.thread}/messages`;
await openStreams({ ...plan, path }, plan.readers, (index) => (index < plan.sampled ? parse : count));
await atRate(plan.appends, plan.appendsPerSecond, (append) => {
  sentAt[append] = performance.now();
  const text = ` a word or two${MARK}${append}`;
  return sendJson({ ...plan, path: `${path}/${plan.message}/append` }, 'POST', { text });
});
const expected = plan.appends * plan.readers;
await waitUntil(() => delivered >= expected, PATIENCE_MS);
const result: AppendResult = { delivered, expected, ...percentilesOf(ages) };
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
