/** Which lines of the sources the tests run: measured by V8 in every process that ends by itself, and merged by Node. */
import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative } from 'node:path';
import process from 'node:process';
import type { EventData } from 'node:test';

const ROOT = join(import.meta.dirname, '../../../..');
const SOURCES = 'packages/*/src/**/*.ts';
/** What is reached, without its tenths: all suites on both engines ran 97.2. It goes up with that. */
const LINES_MIN_PERCENT = 97;
/** How many of the files with the most missing lines are listed. */
const LISTED = 10;

/** What `run()` of node:test needs to measure it. */
export const COVERAGE = { coverage: true, coverageIncludeGlobs: [SOURCES] } as const;

type Summary = EventData.TestCoverage['summary'];

/** The lines of a file that no process loaded: none where it has types and comments alone, which are never loaded. */
function linesNeverLoaded(path: string): number {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const code = stripTypeScriptTypes(text).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  return code.trim() === '' ? 0 : text.split('\n').length;
}

/** Prints it, and returns whether enough lines ran. A file that was never loaded has lines that did not run. */
export function reportCoverage({ files, totals }: Summary): boolean {
  const loaded = new Set(files.map(({ path }) => relative(ROOT, path)));
  const never = globSync(SOURCES, { cwd: ROOT })
    .filter((path) => !loaded.has(path))
    .map((path) => ({ path, lines: linesNeverLoaded(path) }))
    .filter(({ lines }) => lines > 0);
  const missing = (file: Summary['files'][number]) => file.totalLineCount - file.coveredLineCount;
  const worst = files.toSorted((a, b) => missing(b) - missing(a)).slice(0, LISTED);
  const rows = worst.map(
    (file) =>
      `  ${missing(file)} of ${file.totalLineCount} lines of ${relative(ROOT, file.path)} did not run`,
  );
  const notLoaded = never.map(({ path, lines }) => `  ${path} was not loaded: ${lines} lines`);
  const lines = never.reduce((sum, each) => sum + each.lines, totals.totalLineCount);
  const percent = (100 * totals.coveredLineCount) / lines;
  const isEnough = percent >= LINES_MIN_PERCENT;
  process.stdout.write(
    `coverage: ${percent.toFixed(1)} % of lines, ${totals.coveredBranchPercent.toFixed(1)} % of branches, ${totals.coveredFunctionPercent.toFixed(1)} % of functions in ${files.length} files; ${never.length} files were not loaded\n${[...rows, ...notLoaded].join('\n')}\n`,
  );
  if (!isEnough) process.stdout.write(`coverage: less than ${LINES_MIN_PERCENT} % of lines\n`);
  return isEnough;
}
