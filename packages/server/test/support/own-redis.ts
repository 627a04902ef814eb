/** Redis servers for one test, which the test can stop, pause and disconnect. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after } from 'node:test';
import { Redis } from 'ioredis';
import { isRequired } from './programs.ts';
import { until } from './waiting.ts';

/** A cluster node also listens on its port plus this. Both must be below the ephemeral ports of clients. */
const BUS_OFFSET = 10_000;
const PORTS = { from: 12_000, count: 10_000 };

/** The program to start: that of ROLLCALL_TEST_REDIS_SERVER, or the first of these in the PATH. */
const SERVER_NAMES = [process.env.ROLLCALL_TEST_REDIS_SERVER ?? ['redis-server', 'valkey-server']].flat();
const serverName = SERVER_NAMES.find((name) => spawnSync(name, ['--version']).status === 0);
/** The command line client of the same installation. */
export const redisCli = serverName?.replace(/server$/, 'cli') ?? 'redis-cli';

/** Why tests with their own Redis are skipped, or false. */
export const skipsOwnRedis =
  serverName === undefined && !isRequired('redis')
    ? `none of ${SERVER_NAMES.join(', ')} is in the PATH`
    : false;

/** Prints the server's process ID, and kills the server when this process ends, however it ends. */
const WITH_PARENT = `${serverName} "$@" >&2 & echo $!; read -r _; kill -9 $!; wait`;

const started = new Set<OwnRedis>();

after(async () => {
  await Promise.all([...started].map((server) => server.remove()));
});

/** A server on a free port, without persistence. */
export class OwnRedis {
  readonly port: number;
  readonly dir: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #pid = 0;

  private constructor({ port, dir }: Reserved, args: readonly string[]) {
    this.port = port;
    this.dir = dir;
    this.#args = args;
  }

  /** @param args further arguments of redis-server */
  static start(...args: string[]): Promise<OwnRedis> {
    return OwnRedis.#start(() => ['--save', '', '--appendonly', 'no', ...args]);
  }

  /** @param files the options that name certificates */
  static startTls(...files: string[]): Promise<OwnRedis> {
    return OwnRedis.#start((tlsPort) => ['--save', '', '--tls-port', `${tlsPort}`, ...files]);
  }

  static async startSentinel(): Promise<OwnRedis> {
    return OwnRedis.#start(() => ['--sentinel']);
  }

  static async #start(argsFor: (tlsPort: number) => readonly string[]): Promise<OwnRedis> {
    const reserved = await reserve();
    const server = new OwnRedis(reserved, argsFor(reserved.port + BUS_OFFSET));
    started.add(server);
    await server.start();
    return server;
  }

  /** The port for TLS, where the arguments enable it. A server that is no node of a cluster has no bus. */
  get tlsPort(): number {
    return this.port + BUS_OFFSET;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    // A sentinel writes its state to the configuration file.
    const config = join(this.dir, 'redis.conf');
    await writeFile(config, `port ${this.port}\nbind 127.0.0.1\ndir ${this.dir}\n`);
    const child = spawn('sh', ['-c', WITH_PARENT, 'sh', config, ...this.#args], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child = child;
    this.#pid = Number(await once(child.stdout, 'data'));
    await until('the server answers', () => this.answers());
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.#pid, signal);
  }

  /** Kills the server, as a power failure does. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    const exited = once(child, 'exit');
    child.stdin?.end();
    await exited;
  }

  async remove(): Promise<void> {
    started.delete(this);
    await this.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  /** Sends one command on a new connection. */
  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis({ port: this.port, lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => {});
    try {
      await client.connect();
      return await client.call(name, ...args);
    } finally {
      client.disconnect();
    }
  }

  async answers(): Promise<boolean> {
    return (await this.command('PING')) === 'PONG';
  }
}

interface Reserved {
  readonly port: number;
  readonly dir: string;
}

/** A port that no program has, and its directory: while that exists, no other test is given the port. */
async function reserve(): Promise<Reserved> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    const dir = join(tmpdir(), `rollcall-redis-${port}`);
    if ((await mkdir(dir, { recursive: true })) === undefined) continue;
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return { port, dir };
    await rm(dir, { recursive: true });
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
