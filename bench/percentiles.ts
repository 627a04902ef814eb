/** How long something took, or how old it was, in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function percentilesOf(milliseconds: Iterable<number>): Percentiles {
  const sorted = Float64Array.from(milliseconds).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
