/** A PostgreSQL server for one test, which the test can stop, pause and kill. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { freePort, owner, withDirectory } from './own-program.ts';
import { withClient } from './postgres.ts';
import { findProgram, isRequired } from './programs.ts';
import { until } from './waiting.ts';

const initdb = findProgram(['initdb'], globSync('/usr/lib/postgresql/*/bin').sort().reverse());

/** Why tests with their own PostgreSQL are skipped, or false: where PostgreSQL is required, its absence fails them. */
export const skipsOwnPostgres =
  initdb === undefined && !isRequired('postgres')
    ? 'there is no initdb in the PATH or in /usr/lib/postgresql'
    : false;

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
  static with(
    use: (server: OwnPostgres) => Promise<void>,
    prepare: (directory: string) => readonly string[] = () => [],
  ): Promise<void> {
    return OwnPostgres.#with((server) => server.#initialise(), use, prepare);
  }

  /** Runs `use` with a hot standby of `primary`, without which the primary commits nothing from then on. */
  static withSynchronousStandby(
    primary: OwnPostgres,
    use: (standby: OwnPostgres) => Promise<void>,
  ): Promise<void> {
    const isSynchronous = async () => {
      const { rows } = await withClient(primary.url, (client) =>
        client.query('SELECT sync_state FROM pg_stat_replication'),
      );
      return rows[0]?.sync_state === 'sync';
    };
    return OwnPostgres.#with(
      (standby) => standby.#copy(primary),
      async (standby) => {
        await withClient(primary.url, async (client) => {
          await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
          await client.query('SELECT pg_reload_conf()');
        });
        await until('the standby is synchronous', isSynchronous);
        await use(standby);
      },
      () => primary.#settings,
    );
  }

  static async #with(
    create: (server: OwnPostgres) => Promise<void>,
    use: (server: OwnPostgres) => Promise<void>,
    prepare: (directory: string) => readonly string[],
  ): Promise<void> {
    await withDirectory('postgres', async (directory) => {
      const server = new OwnPostgres(directory, await freePort(), prepare(directory));
      try {
        await create(server);
        await server.start();
        await use(server);
      } finally {
        await server.kill();
      }
    });
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres?sslmode=disable`;
  }

  get #data(): string {
    return join(this.directory, 'data');
  }

  #program(name: string): string {
    if (initdb === undefined) throw new Error('there is no initdb');
    // Next to the program itself, not to a link to it.
    return join(dirname(realpathSync(initdb)), name);
  }

  async #initialise(): Promise<void> {
    const options = ['-D', this.#data, ...'-A trust -U postgres --no-sync --no-locale -E UTF8'.split(' ')];
    await this.#run('initdb', options);
  }

  async #copy({ port }: OwnPostgres): Promise<void> {
    const options = [
      '-D',
      this.#data,
      ...`-h 127.0.0.1 -p ${port} -U postgres -R -c fast --no-sync`.split(' '),
    ];
    await this.#run('pg_basebackup', options);
  }

  /** Makes a standby the primary, and resolves when it is. */
  async promote(): Promise<void> {
    await this.#run('pg_ctl', ['promote', '-D', this.#data]);
  }

  async #run(program: string, options: readonly string[]): Promise<void> {
    await promisify(execFile)(this.#program(program), options, { ...this.#owner, cwd: this.directory });
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
