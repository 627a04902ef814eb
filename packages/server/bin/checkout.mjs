/**
 * The launcher of a checkout, in plain JavaScript because it runs on whatever Node the machine has. Rollcall itself is
 * TypeScript that a newer Node runs as it is; where this one is too old, the one that npm installed beside it takes over.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const NODE_MIN_MAJOR = 24;
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];
const HERE = dirname(fileURLToPath(import.meta.url));
const LAUNCHER = join(HERE, 'rollcall.mjs');
const ENTRY = join(HERE, '../src/cli/main.ts');
/** Removed when the dependencies are installed again. Where it cannot be written, nothing is cached and nothing fails. */
const COMPILE_CACHE = join(HERE, '../node_modules/.cache/compiled');

const majorOf = (version) => Number.parseInt(version.replace(/^v/, ''), 10);

/** Paths where npm puts the Node of a package, from here up to the root of the file system. */
function* candidates(directory) {
  yield join(directory, 'node_modules/.bin/node');
  yield join(directory, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
  yield join(directory, `node_modules/node-bin-${process.platform}-${process.arch}/bin/node`);
  if (dirname(directory) !== directory) yield* candidates(dirname(directory));
}

/** Whether it is new enough; or, where it does not run, what it says instead of its version. */
function inspect(node) {
  const { status, stdout, stderr, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (status === 0) return { isNewEnough: majorOf(stdout.trim()) >= NODE_MIN_MAJOR, fault: null };
  return { isNewEnough: false, fault: error?.message ?? stderr.trim() };
}

/** Runs Rollcall on another Node as if it were this process: same input and output, signals and exit code. */
function runOn(node) {
  const child = spawn(node, [LAUNCHER, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of FORWARDED_SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`rollcall: cannot run ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Caches what Node compiles of the source files for the next start, which then compiles nothing and does not load Node's
 * TypeScript compiler: a server takes 30 MB less. This file being JavaScript is part of it.
 */
function runHere() {
  if (process.argv[2] === 'serve') compileAhead();
  const { status } = nodeModule.enableCompileCache(COMPILE_CACHE);
  // Threads learn it from the environment.
  if (status === nodeModule.constants.compileCacheStatus.ENABLED)
    process.env.NODE_COMPILE_CACHE = COMPILE_CACHE;
  return import(ENTRY);
}

/**
 * Before the first start, and the first after the sources changed: compiles in a process of its own, so that this one
 * never loads the compiler.
 */
function compileAhead() {
  const sources = fingerprint();
  const marker = join(COMPILE_CACHE, 'compiled-sources');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === sources) return;
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
  spawnSync(process.execPath, [join(HERE, 'compile-ahead.mjs')], { env, stdio: 'ignore' });
  try {
    writeFileSync(marker, sources);
  } catch {
    // The cache cannot be written here: every start compiles, as it would without one.
  }
}

/** Changes when a source file does: the newest time of change, in seconds as archives store it, and how many there are. */
function fingerprint() {
  const times = [join(HERE, '../src'), join(HERE, '../../protocol/src')]
    .filter((directory) => existsSync(directory))
    .flatMap((directory) => readdirSync(directory, { recursive: true }).map((file) => join(directory, file)))
    .map((file) => statSync(file).mtimeMs);
  return `${times.length} ${Math.floor(Math.max(...times) / 1_000)}`;
}

function launch() {
  if (majorOf(process.version) >= NODE_MIN_MAJOR) return runHere();
  const faults = [];
  for (const node of candidates(HERE)) {
    if (!existsSync(node)) continue;
    const { isNewEnough, fault } = inspect(node);
    if (isNewEnough) return runOn(node);
    if (fault !== null) faults.push(`${node} does not run here: ${fault}`);
  }
  const advice = 'install it, or run "npm ci" in the Rollcall directory, which brings one along';
  const needed = `Node ${NODE_MIN_MAJOR} or later is needed, and this is ${process.version}`;
  process.stderr.write(`rollcall: ${needed}: ${faults.length === 0 ? advice : faults.join('\n')}\n`);
  process.exitCode = 2;
}

await launch();
