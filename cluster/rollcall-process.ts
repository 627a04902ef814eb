import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';

const LAUNCHER = new URL('../packages/server/bin/rollcall.mjs', import.meta.url).pathname;

export interface ProcessOptions {
  /** The whole environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  /** The program to run. Default: this project's. */
  readonly launcher?: string | undefined;
  /** Receives each line of stdout and stderr. */
  readonly onLine?: (line: string) => void;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A Rollcall server in a process of its own, on a free port. */
export class RollcallProcess {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #ended: Promise<unknown>;
  /** The URL once it listens; rejects with its output when it exits before. */
  readonly listening: Promise<string>;

  constructor({ env, launcher = LAUNCHER, onLine }: ProcessOptions) {
    this.#child = spawn(process.execPath, [launcher, 'serve', '--host', '127.0.0.1', '--port', '0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    running.add(this.#child);
    this.#ended = once(this.#child, 'close').finally(() => running.delete(this.#child));
    this.listening = this.#urlOf(onLine);
    // Not an unhandled rejection when the caller ends the process without awaiting this.
    this.listening.catch(() => {});
  }

  /** The process ID; 0 when the process could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The lines of output so far. */
  get printed(): readonly string[] {
    return this.#lines;
  }

  /** Resolves when the process has exited: with the signal or the exit code. */
  async ended(): Promise<NodeJS.Signals | number | null> {
    await this.#ended;
    return this.#child.signalCode ?? this.#child.exitCode;
  }

  /** Sends a signal, and waits until the process has exited. SIGTERM lets it finish its requests. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#child.kill(signal);
    await this.#ended;
  }

  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #urlOf(onLine: (line: string) => void = () => {}): Promise<string> {
    return new Promise((resolve, reject) => {
      for (const output of [this.#child.stdout, this.#child.stderr]) {
        if (output === null) continue;
        createInterface(output).on('line', (line) => {
          this.#lines.push(line);
          onLine(line);
          const [, url] = /"url":"([^"]+)".*"msg":"listening"/.exec(line) ?? [];
          if (url !== undefined) resolve(url);
        });
      }
      this.#ended.then(
        () => reject(new Error(`a server ended before it listened: ${this.#lines.join('\n')}`)),
        reject,
      );
    });
  }
}
