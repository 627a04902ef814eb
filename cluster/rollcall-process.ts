import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';

const LAUNCHER = new URL('../packages/server/bin/rollcall.mjs', import.meta.url).pathname;

export interface ProcessOptions {
  /** All that the process sees of an environment. */
  readonly env: NodeJS.ProcessEnv;
  /** The program, where it is another than that of this project. */
  readonly launcher?: string | undefined;
  /** Is given each line that the process prints, to either output. */
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
  /** Where it listens; rejects when it ends before it does, with what it printed. */
  readonly listening: Promise<string>;

  constructor({ env, launcher = LAUNCHER, onLine }: ProcessOptions) {
    this.#child = spawn(process.execPath, [launcher, 'serve', '--host', '127.0.0.1', '--port', '0'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    running.add(this.#child);
    this.#ended = once(this.#child, 'close').finally(() => running.delete(this.#child));
    this.listening = this.#urlOf(onLine);
    // Whoever stops a process that never listened need not have waited for it.
    this.listening.catch(() => {});
  }

  /** 0 where it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** All that it printed so far, line by line. */
  get printed(): readonly string[] {
    return this.#lines;
  }

  /** Resolves when the process is gone: `SIGKILL`, or an exit code. */
  async ended(): Promise<NodeJS.Signals | number | null> {
    await this.#ended;
    return this.#child.signalCode ?? this.#child.exitCode;
  }

  /** Sends a signal, and waits until the process is gone: SIGTERM lets it finish what it does, SIGKILL nothing. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#child.kill(signal);
    await this.#ended;
  }

  /** Sends a signal that does not end it. */
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
