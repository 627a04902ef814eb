#!/usr/bin/env node
/**
 * The launcher, in plain JavaScript because it runs on whatever Node the machine has. Rollcall itself is TypeScript
 * that a newer Node runs as it is; where this one is too old, the one that npm installed beside Rollcall takes over.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const NODE_MIN_MAJOR = 24;
const FORWARDED_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'];
const HERE = dirname(fileURLToPath(import.meta.url));
const ENTRY = join(HERE, '../src/cli/main.ts');

const majorOf = (version) => Number.parseInt(version.replace(/^v/, ''), 10);

/** Places where npm puts a Node that a package carries, from here up to the root of the file system. */
function* candidates(directory) {
  yield join(directory, 'node_modules/.bin/node');
  yield join(directory, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
  yield join(directory, `node_modules/node-bin-${process.platform}-${process.arch}/bin/node`);
  if (dirname(directory) !== directory) yield* candidates(dirname(directory));
}

function isNewEnough(node) {
  const { status, stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return status === 0 && majorOf(stdout.trim()) >= NODE_MIN_MAJOR;
}

/** Runs Rollcall on another Node as if it were this process: same input and output, signals and exit code. */
function runOn(node) {
  const child = spawn(node, [ENTRY, ...process.argv.slice(2)], { stdio: 'inherit' });
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

function launch() {
  if (majorOf(process.version) >= NODE_MIN_MAJOR) return import(ENTRY);
  for (const node of candidates(HERE)) {
    if (existsSync(node) && isNewEnough(node)) return runOn(node);
  }
  process.stderr.write(
    `rollcall: Node ${NODE_MIN_MAJOR} or later is needed, and this is ${process.version}: ` +
      'install it, or run "npm ci" in the Rollcall directory, which brings one along\n',
  );
  process.exitCode = 2;
}

await launch();
