/** The report is printed as it is made, in Markdown. */

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
/** `met` or `MISSED`, by the target. */
export const verdict = (isMet: boolean): string => (isMet ? 'met' : 'MISSED');

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
