/** Which lines of the sources the tests run: measured by V8 in every process that ends by itself, and merged by Node. */
import { globSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import type { EventData } from 'node:test';

const ROOT = join(import.meta.dirname, '../../../..');
const SOURCES = 'packages/*/src/**/*.ts';
/** Two thirds of the suites reached 96.8. It goes up with what is reached. */
const LINES_MIN_PERCENT = 95;
/** How many of the files with the most missing lines are listed. */
const LISTED = 10;

/** What `run()` of node:test needs to measure it. */
export const COVERAGE = { coverage: true, coverageIncludeGlobs: [SOURCES] } as const;

type Summary = EventData.TestCoverage['summary'];

/** Prints it, and returns whether enough lines ran. */
export function reportCoverage({ files, totals }: Summary): boolean {
  const loaded = new Set(files.map(({ path }) => relative(ROOT, path)));
  const never = globSync(SOURCES, { cwd: ROOT }).filter((path) => !loaded.has(path)).length;
  const missing = (file: Summary['files'][number]) => file.totalLineCount - file.coveredLineCount;
  const worst = files.toSorted((a, b) => missing(b) - missing(a)).slice(0, LISTED);
  const rows = worst.map(
    (file) =>
      `  ${missing(file)} of ${file.totalLineCount} lines of ${relative(ROOT, file.path)} did not run`,
  );
  const percent = totals.coveredLinePercent;
  const isEnough = percent >= LINES_MIN_PERCENT;
  process.stdout.write(
    `coverage: ${percent.toFixed(1)} % of lines, ${totals.coveredBranchPercent.toFixed(1)} % of branches, ${totals.coveredFunctionPercent.toFixed(1)} % of functions in ${files.length} files; ${never} files were not loaded\n${rows.join('\n')}\n`,
  );
  if (!isEnough) process.stdout.write(`coverage: less than ${LINES_MIN_PERCENT} % of lines\n`);
  return isEnough;
}
