/** Redis servers of a test's own: to be stopped, paused and cut off. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** A cluster node listens on another port too, which is this much higher; both are to be below those of clients. */
const BUS_OFFSET = 10_000;
const PORTS = { from: 12_000, count: 10_000 };

const started = new Set<OwnRedis>();

after(async () => {
  await Promise.all([...started].map((server) => server.remove()));
});
// A test file that is ended from outside leaves no server behind.
process.once('exit', () => {
  for (const server of started) server.signal('SIGKILL');
});

/** A server on a port of its own, without anything on disk. */
export class OwnRedis {
  readonly port: number;
  readonly dir: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(port: number, dir: string, args: readonly string[]) {
    this.port = port;
    this.dir = dir;
    this.#args = args;
  }

  /** @param args further ones of redis-server */
  static async start(...args: string[]): Promise<OwnRedis> {
    const dir = await mkdtemp(join(tmpdir(), 'rollcall-redis-'));
    const server = new OwnRedis(await freePort(), dir, args);
    started.add(server);
    await server.start();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const { port, dir } = this;
    const own = [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    this.#child = spawn('redis-server', [...own, ...this.#args], { stdio: 'ignore' });
    await until('the server answers', () => this.answers());
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  async remove(): Promise<void> {
    started.delete(this);
    await this.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Sends one command, as an operator would. */
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
    return Promise.race([
      this.command('PING').then(
        () => true,
        () => false,
      ),
      delay(500, false, { ref: false }),
    ]);
  }
}

/** Resolves when it holds; a rejection counts as that it does not. */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await delay(20)) {
    if (await holds().catch(() => false)) return;
  }
  throw new Error(`waited for: ${what}`);
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port;
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
