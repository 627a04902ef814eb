/** The real command line: commands in this process, and in processes of their own. */
import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { LAUNCHER } from '../support/launcher.ts';

export const CUSTOMER = { id: 'acme', secret: 'the secret of acme' };
export const PROJECT = { id: 'staging', secret: 'the secret of staging' };

/** A server that creates these announces nothing. */
export const KNOWN = [
  ...['--customer-id', CUSTOMER.id, '--customer-secret', CUSTOMER.secret],
  ...['--project-id', PROJECT.id, '--project-secret', PROJECT.secret],
];

/** The headers of a request with a token of {@link PROJECT}. */
export const headersOfProject = () => ({
  authorization: `Bearer ${jwt({ project_id: PROJECT.id, iat: seconds(Date.now()) }, PROJECT.secret)}`,
  'content-type': 'application/json',
});

/** Sends a request with a token of {@link PROJECT}; a body is sent as JSON. */
export type Request = (method: string, path: string, body?: unknown) => Promise<Answer>;

export function requestsTo(url: string, agent?: Agent): Request {
  const headers = headersOfProject();
  return (method, path, body) =>
    send(url, method, path, {
      headers,
      ...(agent !== undefined && { agent }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
}

/** Runs `use` with requests on connections that stay open. */
export async function withRequests<Result>(
  url: string,
  use: (request: Request) => Promise<Result>,
): Promise<Result> {
  const agent = new Agent({ keepAlive: true });
  try {
    return await use(requestsTo(url, agent));
  } finally {
    agent.destroy();
  }
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The launcher of this checkout on the Node of this process. */
export const CHECKOUT = { node: process.execPath, launcher: LAUNCHER };

export interface CommandOptions {
  /**
   * Runs the command in a process of its own, with this program. `cwd` and `serve` do so with {@link CHECKOUT}. Default: in this
   * process.
   */
  readonly program?: { readonly node: string; readonly launcher: string };
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** The account of the process and its group. Only root can run one of another account. */
  readonly account?: number;
}

/** No command takes a tenth of this; a command that takes longer is killed. */
const COMMAND_LIMIT_MS = 180_000;

/** The program gets none of the settings of the test run itself. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('ROLLCALL_') && !name.startsWith('NODE_'),
  );
  return { ...Object.fromEntries(inherited), ...extra };
}

export class CliProcess {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #ended: Promise<Ended>;
  #stdout = '';
  #stderr = '';
  #onOutput: () => void = () => {};

  constructor(args: readonly string[], { program, env, cwd, account }: CommandOptions, limitMs?: number) {
    const { node, launcher } = program ?? CHECKOUT;
    this.#child = spawn(node, [launcher, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: cleanEnvironment(env),
      cwd,
      uid: account,
      gid: account,
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      this.#onOutput();
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.#ended = once(this.#child, 'close').then(([code, signal]) => {
      this.#onOutput();
      return { code, signal, stdout: this.#stdout, stderr: this.#stderr };
    });
  }

  get ended(): Promise<Ended> {
    return this.#ended;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The first match in standard output, as soon as it is there. */
  async output(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#stdout);
      if (match !== null) return match;
      if (!this.running) throw new Error(`it ended without ${pattern}: ${this.#stdout}${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#onOutput = resolve;
      });
    }
  }
}

/** Runs a command to its end. A server ends its process, so it has one of its own. */
export async function rollcall(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  const { program, env, cwd } = options;
  if (program !== undefined || cwd !== undefined || args[0] === 'serve')
    return new CliProcess(args, options, COMMAND_LIMIT_MS).ended;
  // Loaded where it is used: it has a hand in the process of the tests.
  const { runHere } = await import('./run-here.ts');
  const { stdout, stderr, ...ended } = await runHere(args, cleanEnvironment(env));
  return { ...ended, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** A command that runs as long as `use` does, unless it ends before. */
export async function withCommand<Result>(
  args: readonly string[],
  use: (command: CliProcess) => Promise<Result>,
  options: CommandOptions = {},
): Promise<Result> {
  const command = new CliProcess(args, options, COMMAND_LIMIT_MS);
  try {
    return await use(command);
  } finally {
    command.signal('SIGKILL');
    await command.ended;
  }
}

/** Runs a command that must succeed in silence on standard error, and gives what it printed. */
export async function rollcallOk(args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await rollcall(args, options);
  assert.equal(stderr, '');
  assert.equal(code, 0);
  return stdout;
}

export interface ServeProcess {
  readonly url: string;
  readonly process: Pick<CliProcess, 'ended' | 'output' | 'signal' | 'stdout'>;
}

/** A server in a process of its own, on a free port, for as long as `use` runs. It may end in the meantime. */
export async function withServe<Result>(
  dataDir: string,
  args: readonly string[],
  use: (server: ServeProcess) => Promise<Result>,
  options: CommandOptions = {},
): Promise<Result> {
  const child = new CliProcess(['serve', '--port', '0', '--data-dir', dataDir, ...args], options);
  try {
    const [, url = ''] = await child.output(/"url":"([^"]+)".*"msg":"listening"/);
    return await use({ url, process: child });
  } finally {
    child.signal('SIGKILL');
    await child.ended;
  }
}
