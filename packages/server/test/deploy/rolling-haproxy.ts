/** A real balancer whose servers change while it runs, as the endpoints of a service of Kubernetes do. */
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { haproxy } from '../support/own-haproxy.ts';
import { freePort, OwnProgram, withDirectory } from '../support/own-program.ts';
import { until } from '../support/waiting.ts';

/** How many servers it can have at a time. */
const SLOTS = ['a', 'b', 'c'] as const;
export type Slot = (typeof SLOTS)[number];

/**
 * Nothing is retried: a connection that a server rejects or resets is a failed request of the client. A busy
 * machine makes no server fail: only an answer other than 200, or a rejected connection, takes it out.
 */
const configuration = (socket: string, port: number, readinessPath: string) => `
global
  stats socket ${socket} level admin
defaults
  mode http
  retries 0
  timeout connect 30s
  timeout check 30s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
frontend clients
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
  balance roundrobin
  option httpchk GET ${readinessPath}
  default-server check inter 100ms fall 1 rise 1 init-addr none
${SLOTS.map((slot) => `  server ${slot} 127.0.0.1:1 disabled`).join('\n')}
`;

export class RollingHaproxy {
  readonly url: string;
  readonly #socket: string;

  private constructor(port: number, socket: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#socket = socket;
  }

  /** Runs `use` with a balancer without servers. Servers whose `readinessPath` does not answer 200 get no requests. */
  static with<Result>(
    readinessPath: string,
    use: (balancer: RollingHaproxy) => Promise<Result>,
  ): Promise<Result> {
    const program = haproxy;
    if (program === undefined) throw new Error('there is no haproxy');
    return withDirectory('haproxy', async (directory) => {
      const port = await freePort();
      const file = join(directory, 'haproxy.cfg');
      const socket = join(directory, 'haproxy.sock');
      writeFileSync(file, configuration(socket, port, readinessPath));
      await using _running = await OwnProgram.start(directory, program, '-db', '-f', file);
      const balancer = new RollingHaproxy(port, socket);
      await until('haproxy listens', async () => (await balancer.#command('show info')) !== '');
      return await use(balancer);
    });
  }

  /** Adds a server, and waits until it is ready. */
  async add(slot: Slot, url: string): Promise<void> {
    await this.#command(`set server servers/${slot} addr 127.0.0.1 port ${new URL(url).port}`);
    await this.#command(`enable server servers/${slot}`);
    await this.reaches(slot, 'UP');
  }

  /** Removes a server, which gets no requests any more. */
  remove(slot: Slot): Promise<string> {
    return this.#command(`disable server servers/${slot}`);
  }

  /** Waits until the health checks have found a server to be ready, or not to be. */
  reaches(slot: Slot, status: 'UP' | 'DOWN'): Promise<void> {
    return until(`server ${slot} is ${status}`, async () => {
      const lines = (await this.#command('show stat')).split('\n');
      return lines.find((line) => line.startsWith(`servers,${slot},`))?.split(',')[17] === status;
    });
  }

  #command(command: string): Promise<string> {
    const socket = connect(this.#socket);
    socket.end(`${command}\n`);
    return text(socket);
  }
}
