/** Starting what is measured and what measures, each pinned to a core where the system can pin. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from './load.ts';

/** The core of the server's main thread, and the core of the load. */
export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

/** Whether processes can be pinned here; without that, ratios are rougher and the report says so. */
export const canPin = availableParallelism() >= 2 && existsSync('/usr/bin/taskset');

const directory = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** A fresh directory that goes when the bench ends. */
export const freshDirectory = (): string => mkdtempSync(join(directory, 'data-'));

export interface Child {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

function spawnPinned(core: number | string, script: string, parameters: readonly string[]): ChildProcess {
  const command = [process.execPath, new URL(script, import.meta.url).pathname, ...parameters];
  const pinned = canPin ? ['taskset', '-c', String(core), ...command] : command;
  const child = spawn(pinned[0] as string, pinned.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Starts a server script of this folder on the server's core; it prints `{"port": …}` when it listens. */
export async function startServer(script: string, ...parameters: string[]): Promise<Child> {
  const child = spawnPinned(SERVER_CORE, script, parameters);
  return listening(child, ({ port }) => port);
}

/** Starts a server script of this folder on both cores, for what its threads do beside its main one. */
export async function startServerOnBothCores(script: string, ...parameters: string[]): Promise<Child> {
  const child = spawnPinned(`${SERVER_CORE},${LOAD_CORE}`, script, parameters);
  return listening(child, ({ port }) => port);
}

/** Starts Rollcall by its launcher, as `npm start` does, on a fresh data directory. */
export async function startProduct(): Promise<Child> {
  const parameters = ['serve', '--port', '0', '--data-dir', freshDirectory()];
  const child = spawnPinned(SERVER_CORE, '../packages/server/bin/rollcall.mjs', parameters);
  return listening(child, ({ url }) => (url === undefined ? undefined : Number(new URL(url).port)));
}

interface Line {
  readonly port?: number;
  readonly url?: string;
}

async function listening(child: ChildProcess, portOf: (line: Line) => number | undefined): Promise<Child> {
  const port = await new Promise<number>((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (const line of text.split('\n').filter((candidate) => /^\{.*\}$/.test(candidate))) {
        const found = portOf(JSON.parse(line));
        if (found !== undefined) resolve(found);
      }
    });
    child.once('exit', (code) =>
      reject(new Error(`a server ended with ${code} before it listened: ${text}`)),
    );
  });
  return {
    port,
    pid: child.pid as number,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

/** Lets every thread of the server but its main one run on the other core: a writer with a core of its own. */
export function freeWriter(pid: number): void {
  if (!canPin) return;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    if (Number(thread) !== pid)
      execFileSync('taskset', ['-p', '-c', String(LOAD_CORE), thread], { stdio: 'ignore' });
  }
}

/** Runs a script of this folder on the load's core; it takes its plan from a file and prints its result as JSON. */
export const runBeside = <Plan, Result>(script: string, name: string, plan: Plan): Promise<Result> =>
  runPlan(LOAD_CORE, script, name, plan);

/** Runs a bare client on the server's core, in the server's place. */
export const runBare = <Plan>(script: string, plan: Plan): Promise<{ requestsPerSecond: number }> =>
  runPlan(SERVER_CORE, script, 'a bare client', plan);

async function runPlan<Plan, Result>(
  core: number,
  script: string,
  name: string,
  plan: Plan,
): Promise<Result> {
  const file = join(directory, `plan-${plans}.json`);
  plans += 1;
  writeFileSync(file, JSON.stringify(plan));
  const child = spawnPinned(core, script, [file]);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  rmSync(file);
  if (code !== 0) throw new Error(`${name}: ${script} ended with ${code}`);
  return JSON.parse(text) as Result;
}

let plans = 0;

/** Sends the load from its own core and waits for the result. @throws Error when an answer was no success */
export async function load(name: string, plan: LoadPlan): Promise<LoadResult> {
  const result = await runBeside<LoadPlan, LoadResult>('load.ts', name, plan);
  if (result.failures > 0)
    throw new Error(`${name}: ${result.failures} answers were no success: ${result.firstFailure}`);
  return result;
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
}
