/** Starting what is measured and what measures, each pinned to a core where the system can pin. */
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CUSTOMER, PROJECT } from './credentials.ts';
import type { LoadPlan, LoadResult } from './load.ts';
import { processorSeconds } from './process-usage.ts';

/** The core of the server's main thread, and the core of the load. */
const SERVER_CORE = 0;
const LOAD_CORE = 1;
export const BOTH_CORES = `${SERVER_CORE},${LOAD_CORE}`;
/** A presence lives for a day, so that nothing that is measured expires meanwhile. */
const PRESENCE_TTL_SECONDS = 86_400;

/** Whether processes can be pinned here; without that, ratios are rougher and the report has a note of that. */
export const canPin = availableParallelism() >= 2 && existsSync('/usr/bin/taskset');

const directory = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** A fresh directory that is removed when the bench ends. */
export const freshDirectory = (): string => mkdtempSync(join(directory, 'data-'));

let files = 0;

function writeJson(value: unknown): string {
  const file = join(directory, `${files}.json`);
  files += 1;
  writeFileSync(file, JSON.stringify(value));
  return file;
}

/** Stops the process when it is disposed of. */
export interface Child extends AsyncDisposable {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface RollcallOptions {
  readonly presenceTtlSeconds?: number;
  /** The scale-out engine. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** The checkout whose server is started. Default: this one. */
  readonly directory?: string;
  /** Default: the server's. */
  readonly cores?: string;
  /** Default: a fresh one. */
  readonly dataDirectory?: string;
  /** Networks that are not public to which webhooks may be sent. */
  readonly webhooksAllow?: string;
  /** Where it writes its memory after a collection, on SIGUSR2. */
  readonly memoryFile?: string;
}

/** Starts Rollcall by its launcher, as `npm start` does. */
export async function startRollcall(options: RollcallOptions = {}): Promise<Child> {
  const { presenceTtlSeconds = PRESENCE_TTL_SECONDS, databaseUrl, redisUrl, cores } = options;
  const root = options.directory ?? new URL('..', import.meta.url).pathname;
  const env = {
    ...process.env,
    ROLLCALL_DATA_DIR: options.dataDirectory ?? freshDirectory(),
    ROLLCALL_PORT: '0',
    ROLLCALL_CUSTOMER_ID: CUSTOMER.id,
    ROLLCALL_CUSTOMER_SECRET: CUSTOMER.secret,
    ROLLCALL_PROJECT_ID: PROJECT.id,
    ROLLCALL_PROJECT_SECRET: PROJECT.secret,
    ROLLCALL_PRESENCE_TTL_SECONDS: String(presenceTtlSeconds),
    ...(databaseUrl === undefined ? {} : { ROLLCALL_DATABASE_URL: databaseUrl }),
    ...(redisUrl === undefined ? {} : { ROLLCALL_REDIS_URL: redisUrl }),
    ...(options.webhooksAllow === undefined ? {} : { ROLLCALL_WEBHOOKS_ALLOW: options.webhooksAllow }),
    ...(options.memoryFile === undefined ? {} : { BENCH_MEMORY_FILE: options.memoryFile }),
  };
  const { memoryFile } = options;
  const collecting = memoryFile === undefined ? [] : ['--import', pathOf('collect-on-signal.ts')];
  const parameters = [...collecting, join(root, 'packages/server/bin/rollcall.mjs'), 'serve'];
  return listening(spawnPinned(cores ?? SERVER_CORE, parameters, SERVER_STREAMS, env));
}

/** Starts a server script of this folder on the server's core; it prints `{"port": …}` when it listens. */
export const startServer = (script: string, ...parameters: string[]): Promise<Child> =>
  listening(spawnPinned(SERVER_CORE, [pathOf(script), ...parameters]));

const pathOf = (script: string) => new URL(script, import.meta.url).pathname;
const SERVER_STREAMS: StdioOptions = ['ignore', 'pipe', 'inherit'];

/** The command that runs Node with these parameters on a core. */
function pinnedCommand(core: number | string, parameters: readonly string[]): [string, ...string[]] {
  const pin = canPin ? ['taskset', '-c', String(core)] : [];
  return [...pin, process.execPath, ...parameters] as unknown as [string, ...string[]];
}

function spawnPinned(
  core: number | string,
  parameters: readonly string[],
  stdio = SERVER_STREAMS,
  env = process.env,
): ChildProcess {
  const [command, ...rest] = pinnedCommand(core, parameters);
  const child = spawn(command, rest, { stdio, env });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

async function listening(child: ChildProcess): Promise<Child> {
  const port = await new Promise<number>((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      for (const line of text.split('\n').filter((candidate) => /^\{.*\}$/.test(candidate))) {
        const { port: itsPort, url } = JSON.parse(line) as { port?: number; url?: string };
        if (itsPort !== undefined) resolve(itsPort);
        else if (url !== undefined) resolve(Number(new URL(url).port));
      }
    });
    child.once('exit', (code) =>
      reject(new Error(`a server ended with ${code} before it listened: ${text}`)),
    );
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { port, pid: child.pid as number, stop, [Symbol.asyncDispose]: stop };
}

/** Lets every thread of the server but its main one run on the other core: a writer with a core of its own. */
export function freeWriter(pid: number): void {
  if (!canPin) return;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    if (Number(thread) !== pid)
      execFileSync('taskset', ['-p', '-c', String(LOAD_CORE), thread], { stdio: 'ignore' });
  }
}

/** A young generation that is seldom collected keeps the load's own pauses out of the latencies. */
const LOAD_PARAMETERS = ['--max-semi-space-size=64'];

/** Runs a script of this folder on the load's core; it reads its plan from a file and prints its result as JSON. */
export const runBeside = <Plan, Result>(script: string, plan: Plan): Promise<Result> =>
  runPlan(LOAD_CORE, [...LOAD_PARAMETERS, pathOf(script)], plan);

/** Runs a bare client on the server's core, in place of the server. */
export const runBare = <Plan>(script: string, plan: Plan): Promise<{ requestsPerSecond: number }> =>
  runPlan(SERVER_CORE, [pathOf(script)], plan);

async function runPlan<Plan, Result>(
  core: number,
  parameters: readonly string[],
  plan: Plan,
): Promise<Result> {
  const file = writeJson(plan);
  const child = spawnPinned(core, [...parameters, file]);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const [code] = await once(child, 'close');
  rmSync(file);
  if (code !== 0) throw new Error(`${parameters.at(-1)} ended with ${code}`);
  return JSON.parse(text) as Result;
}

/** Runs a script of this folder on the server's core and returns what it prints as JSON. The bench waits meanwhile. */
export function runAlone<Result>(script: string, ...parameters: string[]): Result {
  const [command, ...rest] = pinnedCommand(SERVER_CORE, [pathOf(script), ...parameters]);
  return JSON.parse(execFileSync(command, rest, { encoding: 'utf8' })) as Result;
}

let generator: ChildProcess | undefined;
const requestFiles = new Map<readonly string[], string>();

function startGenerator(): ChildProcess {
  const parameters = [...LOAD_PARAMETERS, pathOf('load.ts')];
  const child = spawnPinned(LOAD_CORE, parameters, ['ignore', 'inherit', 'inherit', 'ipc']);
  return child.once('exit', (code) => {
    if (code !== 0) throw new Error(`the load generator ended with ${code}`);
  });
}

/** A load as a part of the bench describes it: with the requests themselves. */
export type Load = Omit<LoadPlan, 'requestsFile'> & { readonly requests: readonly string[] };

/** Sends the load from its own core and waits for the result. @throws Error when an answer was no success */
export async function load(name: string, { requests, ...plan }: Load): Promise<LoadResult> {
  generator ??= startGenerator();
  const requestsFile = requestFiles.get(requests) ?? writeJson(requests);
  requestFiles.set(requests, requestsFile);
  generator.send({ ...plan, requestsFile } satisfies LoadPlan);
  const [result] = (await once(generator, 'message')) as [LoadResult & { error?: string }];
  if (result.error !== undefined) throw new Error(`${name}: ${result.error}`);
  if (result.failures > 0)
    throw new Error(`${name}: ${result.failures} answers were no success: ${result.firstFailure}`);
  return result;
}

/** Processor time of the load generator so far, in seconds. */
export const loadProcessorSeconds = (): number =>
  generator?.pid === undefined ? 0 : processorSeconds(generator.pid);

/** Removes the file of requests that are not sent any more. */
export function discardRequests(requests: readonly string[]): void {
  const file = requestFiles.get(requests);
  if (file !== undefined) rmSync(file);
  requestFiles.delete(requests);
}

/** Ends the load generator: the bench is over. */
export function stopLoad(): void {
  generator?.disconnect();
}
