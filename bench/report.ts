/** The report is printed as it is made, in Markdown. */
import type { Percentiles } from './percentiles.ts';

export const print = (line = ''): void => console.log(line);

/** Prints a table; numbers are aligned to the right. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  print(line(heads));
  print(
    `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`,
  );
  for (const row of rows) print(line(row));
  print();
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en');
export const one = (value: number): string => value.toFixed(1);
export const two = (value: number): string => value.toFixed(2);
export const mebibytes = (bytes: number): string => `${whole(bytes / 1_024 ** 2)} MiB`;
/** `met` or `MISSED`, by the target. */
export const verdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED');

/** Prints a table of {@link figure}s, some of which have targets. */
export const figures = (rows: readonly (readonly string[])[]): void =>
  table(['what', 'measured', 'target', ''], rows);

/** A figure without a target. */
export const figure = (what: string, shown: string): string[] => [what, shown, '', ''];

/** A figure that may not be above its target. */
export const atMost = (what: string, value: number, target: number, shown: Shown): string[] => [
  ...[what, shown(value), `≤ ${targetText(target)}`],
  verdict(value <= target),
];

/** A figure that may not be below its target. */
export const atLeast = (what: string, value: number, target: number, shown: Shown): string[] => [
  ...[what, shown(value), `≥ ${targetText(target)}`],
  verdict(value >= target),
];

/** How old events were, in milliseconds. */
export const ageFigures = (what: string, { p50, p99, max }: Percentiles, p99Target: number): string[][] => [
  figure(`${what}, p50 ms`, two(p50)),
  atMost(`${what}, p99 ms`, p99, p99Target, two),
  figure(`${what}, longest ms`, two(max)),
];

type Shown = (value: number) => string;

/** A target as its definition has it. */
const targetText = (target: number) => target.toLocaleString('en');

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
