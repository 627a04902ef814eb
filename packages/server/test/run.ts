/**
 * What `npm test` runs: every packages/<name>/test/<...>.test.ts, each file in a process of its own, and then the HTTP
 * suite once more on the scale-out engine where PostgreSQL and Redis answer. Arguments select the files whose path
 * contains one of them; `--coverage` measures which lines the first time runs. The last line printed is the count,
 * for people and scripts alike; the exit code is 0 only when tests ran, none failed, and enough lines ran where that is measured.
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { COVERAGE, reportCoverage } from './support/coverage.ts';
import { isRequired } from './support/programs.ts';
import { absentServers } from './support/servers.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Files of faults mostly wait: for deadlines, paused servers and processes that start. So each core has two files. */
const CONCURRENCY = Math.min(4, 2 * availableParallelism());
/** A test that hangs becomes a failure that names it, and a file that does not exit, one that names the file. */
const TEST_MAX_MS = 8 * 60_000;
const EXIT_LIMIT = join(import.meta.dirname, 'support/exit-limit.ts');
/** When all ends, also with a file that never returns to its event loop, or whose children still have its output. */
const RUN_MAX_MS = 45 * 60_000;
/** How many of the slowest files are listed, where more ran. */
const SLOWEST = 10;
/** The HTTP tests of a whole server, which do not depend on its engine. */
const ON_EVERY_ENGINE = 'packages/server/test/routes/';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 };

const deadline = AbortSignal.timeout(RUN_MAX_MS);

/** How long each file took, in milliseconds, beside the others that ran at that time. */
const durations: (readonly [path: string, milliseconds: number])[] = [];

function testFiles(patterns: readonly string[]): string[] {
  return globSync('packages/*/test/**/*.test.ts', { cwd: ROOT })
    .filter((path) => patterns.length === 0 || patterns.some((pattern) => path.includes(pattern)))
    .sort();
}

/** Runs the files, and prints a report meanwhile. Too few lines that run count as a failure. */
async function runTests(files: readonly string[], isMeasured = false): Promise<Counts> {
  if (files.length === 0) return NOTHING;
  let counts = NOTHING;
  // Where it is measured, no report of it is a failure too.
  let isEnough = !isMeasured;
  const paths = files.map((path) => join(ROOT, path));
  const limits = { timeout: TEST_MAX_MS, execArgv: ['--import', EXIT_LIMIT], signal: deadline };
  const options = { files: paths, concurrency: CONCURRENCY, ...limits, cwd: ROOT };
  const events = run({ ...options, ...(isMeasured && COVERAGE) });
  events.on('test:coverage', ({ summary }) => {
    isEnough = reportCoverage(summary);
  });
  events.on('test:summary', (summary) => {
    // There is a summary of each file, and one of all.
    if (summary.file === undefined) counts = countsOf(summary);
    else durations.push([relative(ROOT, summary.file), summary.duration_ms]);
  });
  // The report has a line for each source file.
  const reported = events.filter(({ type }: TestEvent) => type !== 'test:coverage');
  for await (const text of reported.compose(spec)) process.stdout.write(text);
  return isEnough ? counts : { ...counts, failed: counts.failed + 1 };
}

function countsOf({ counts, success }: { counts: Record<string, number>; success: boolean }): Counts {
  const { passed = 0, failed = 0, cancelled = 0, skipped = 0, todo = 0 } = counts;
  const broken = failed + cancelled;
  // A suite whose hook fails is a failure that is not counted as a test.
  return { passed, failed: success ? broken : Math.max(1, broken), skipped: skipped + todo };
}

/** The same suites with `withServer` on PostgreSQL and Redis (see support/engine.ts). */
async function runOnScaleOut(files: readonly string[]): Promise<Counts> {
  const again = files.filter((path) => path.startsWith(ON_EVERY_ENGINE));
  if (again.length === 0) return NOTHING;
  const absent = await absentServers();
  if (absent.length > 0) {
    process.stdout.write(`skipped: the HTTP suite on PostgreSQL and Redis (${absent.join('; ')})\n`);
    return { ...NOTHING, failed: isRequired('postgres') || isRequired('redis') ? 1 : 0, skipped: 1 };
  }
  process.stdout.write('\nThe HTTP suite on PostgreSQL and Redis\n\n');
  process.env.ROLLCALL_TEST_ENGINE = 'scale-out';
  return runTests(again);
}

/** Where a shorter test would save the most. */
function reportSlowest(): void {
  if (durations.length <= SLOWEST) return;
  const slowest = durations.toSorted(([, one], [, other]) => other - one).slice(0, SLOWEST);
  const rows = slowest.map(([path, ms]) => `  ${(ms / 1_000).toFixed(1)} s  ${path}\n`);
  process.stdout.write(`the slowest of ${durations.length} files:\n${rows.join('')}`);
}

// Each file is a process that loads the whole server. The launcher's cache of compiled sources serves them too.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'packages/server/node_modules/.cache/compiled');

const { values, positionals } = parseArgs({
  options: { coverage: { type: 'boolean' } },
  allowPositionals: true,
});
const files = testFiles(positionals);
const counts = [await runTests(files, values.coverage), await runOnScaleOut(files)];
reportSlowest();
const total = (what: keyof Counts) => counts.reduce((sum, ofRun) => sum + ofRun[what], 0);
const [passed, failed, skipped] = [total('passed'), total('failed'), total('skipped')];
if (passed + failed === 0) process.stdout.write('no test ran\n');
process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`);
// Pipes that such children have do not let this process end by itself.
process.exit(passed > 0 && failed === 0 ? 0 : 1);
