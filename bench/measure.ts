/** Measuring in rounds: the machine's speed drifts, so what is compared is measured in turn, and ratios are per round. */
import type { LoadResult } from './load.ts';
import { load } from './processes.ts';
import { median } from './report.ts';

export const CONNECTIONS = 32;

/** How long and how often each thing is measured. */
export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
}

export interface Subject {
  readonly name: string;
  readonly port: number;
  readonly requests: readonly string[];
}

export interface Measurement {
  /** Of the medians over the rounds. */
  readonly requestsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The median of the rounds' ratios to the first subject. */
  readonly ratio: number;
}

/** Loads the subjects in turn, `rounds` times; each is compared with the first of its round. */
export async function measureInTurn(
  subjects: readonly Subject[],
  { rounds, seconds }: Pace,
  awake = true,
): Promise<Measurement[]> {
  const results: LoadResult[][] = subjects.map(() => []);
  // A round that is not counted warms up the code and the caches.
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, { name, port, requests }] of subjects.entries()) {
      const result = await load(name, { port, connections: CONNECTIONS, seconds, requests, awake });
      if (round >= 0) results[index]?.push(result);
    }
  }
  return results.map((ofSubject) => ({
    requestsPerSecond: median(ofSubject.map((result) => result.requestsPerSecond)),
    p50: median(ofSubject.map((result) => result.p50)),
    p99: median(ofSubject.map((result) => result.p99)),
    ratio: median(
      ofSubject.map(
        (result, round) => result.requestsPerSecond / (results[0]?.[round]?.requestsPerSecond ?? Number.NaN),
      ),
    ),
  }));
}
