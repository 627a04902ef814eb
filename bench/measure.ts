/** Measuring in rounds: the machine's speed drifts, so what is compared is measured alternately, and ratios are per round. */
import type { LoadResult } from './load.ts';
import { processorSeconds } from './process-usage.ts';
import { discardRequests, load } from './processes.ts';
import { median } from './report.ts';

export const CONNECTIONS = 32;

/** How long and how often each thing is measured. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
}

export interface Subject {
  readonly name: string;
  /** The server's. */
  readonly port: number;
  readonly pid: number;
  readonly requests: readonly string[];
  /** Default: as many as the server can answer. */
  readonly requestsPerSecond?: number;
}

export interface Measurement {
  /** Of the medians over the rounds. */
  readonly requestsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The median of each round's ratio to the first subject. */
  readonly ratio: number;
  /** Processor time of the server for each request, in microseconds: a busy machine raises it less than it lowers the rate. */
  readonly processorMicroseconds: number;
  /** The median of each round's p99 over its p50. */
  readonly spread: number;
}

type Result = LoadResult & { readonly processorTime: number };

/** Loads the subjects alternately, `rounds` times; each is compared with the first of its round. */
export async function measureAlternately(
  subjects: readonly Subject[],
  { rounds, seconds }: Pace,
  awake = true,
): Promise<Measurement[]> {
  const results: Result[][] = subjects.map(() => []);
  // Round -1 is not counted: it warms up the code and the caches.
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, { name, pid, ...subject }] of subjects.entries()) {
      const duration = round < 0 ? seconds / 2 : seconds;
      const before = processorSeconds(pid);
      const result = await load(name, { ...subject, connections: CONNECTIONS, seconds: duration, awake });
      const processorTime = processorSeconds(pid) - before;
      if (round >= 0) results[index]?.push({ ...result, processorTime });
    }
  }
  for (const { requests } of subjects) discardRequests(requests);
  const first = results[0] ?? [];
  return results.map((ofSubject) => {
    const of = (value: (result: Result, round: number) => number) => median(ofSubject.map(value));
    return {
      requestsPerSecond: of((result) => result.requestsPerSecond),
      p50: of((result) => result.p50),
      p99: of((result) => result.p99),
      ratio: of(
        (result, round) => result.requestsPerSecond / (first[round]?.requestsPerSecond ?? Number.NaN),
      ),
      processorMicroseconds: of(({ processorTime, answers }) => (processorTime * 1e6) / answers),
      spread: of((result) => result.p99 / result.p50),
    };
  });
}

/** How long it takes, in milliseconds. */
export async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await run();
  return performance.now() - begin;
}
