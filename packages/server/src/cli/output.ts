import process from 'node:process';
import { visibleText } from './visible-text.ts';

/** Prints one line on standard output: the result of the command, and nothing else. */
export const printLine = (line: string) => void process.stdout.write(`${line}\n`);

/** Prints one line on standard error: a message about the work. */
export const noteLine = (line: string) => void process.stderr.write(`${visibleText(line)}\n`);

export const printJson = (value: unknown) => printLine(JSON.stringify(value, null, 2));

/** Rows in aligned columns under their heads. */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [heads, ...rows.map((row) => row.map(visibleText))];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  for (const row of all) {
    printLine(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}
