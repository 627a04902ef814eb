/** A PostgreSQL server for one test, which the test can stop, pause and kill. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { withClient } from './postgres.ts';
import { findProgram, isRequired } from './programs.ts';
import { until } from './waiting.ts';

const initdb = findProgram(['initdb'], globSync('/usr/lib/postgresql/*/bin').sort().reverse());

/** Why tests with their own PostgreSQL are skipped, or false: where PostgreSQL is required, its absence fails them. */
export const skipsOwnPostgres =
  initdb === undefined && !isRequired('postgres')
    ? 'there is no initdb in the PATH or in /usr/lib/postgresql'
    : false;

/** PostgreSQL does not run as root: for root, it runs as the user `postgres` of its package. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

export class OwnPostgres {
  readonly directory: string;
  readonly port: number;
  readonly #owner = owner();
  readonly #settings: readonly string[];
  #server: ReturnType<typeof spawn> | null = null;

  private constructor(directory: string, port: number, settings: readonly string[]) {
    this.directory = directory;
    this.port = port;
    this.#settings = settings;
  }

  /** Runs `use` with a new server that has these settings, and removes everything afterwards. */
  static async with(
    use: (server: OwnPostgres) => Promise<void>,
    prepare: (directory: string) => readonly string[] = () => [],
  ): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'rollcall-postgres-'));
    const { uid, gid } = owner();
    if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid);
    chmodSync(directory, 0o700);
    const server = new OwnPostgres(directory, await freePort(), prepare(directory));
    try {
      await server.#initialise();
      await server.start();
      await use(server);
    } finally {
      await server.kill();
      rmSync(directory, { recursive: true, force: true });
    }
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres?sslmode=disable`;
  }

  get #data(): string {
    return join(this.directory, 'data');
  }

  #program(name: string): string {
    if (initdb === undefined) throw new Error('there is no initdb');
    return join(dirname(initdb), name);
  }

  async #initialise(): Promise<void> {
    const options = ['-D', this.#data, ...'-A trust -U postgres --no-sync --no-locale -E UTF8'.split(' ')];
    await promisify(execFile)(this.#program('initdb'), options, { ...this.#owner, cwd: this.directory });
  }

  /** Starts the server, and waits until it accepts connections. */
  async start(): Promise<void> {
    const settings = [
      'listen_addresses=127.0.0.1',
      `port=${this.port}`,
      `unix_socket_directories=${this.directory}`,
      'shared_buffers=16MB',
      ...this.#settings,
    ];
    this.#server = spawn(
      this.#program('postgres'),
      ['-D', this.#data, ...settings.flatMap((setting) => ['-c', setting])],
      { ...this.#owner, cwd: this.directory, stdio: 'ignore' },
    );
    await until('an answer of the server', async () => {
      await withClient(this.url, (client) => client.query('SELECT 1'));
      return true;
    });
  }

  /** Shuts it down; open transactions are rolled back. */
  stop(): Promise<void> {
    return this.#end('SIGINT');
  }

  /** Kills all of its processes, as a power failure does. */
  async kill(): Promise<void> {
    this.resume();
    this.#signal('SIGKILL');
    await this.#end('SIGKILL');
  }

  /** Pauses all of its processes: it accepts connections and does not respond. */
  pause(): void {
    this.#signal('SIGSTOP');
  }

  resume(): void {
    this.#signal('SIGCONT');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#server?.pid;
    if (pid === undefined || this.#server?.exitCode !== null) return;
    for (const each of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(each, signal);
      } catch {
        // The process has exited already.
      }
    }
  }
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
