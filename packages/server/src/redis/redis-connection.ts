import { type Cluster, Redis } from 'ioredis';
import { TickCork } from '../concurrency/tick-cork.ts';
import type { Metric } from '../metrics/metric.ts';
import { StoreUnavailableError } from '../values/engine-errors.ts';
import { closeClient, clusterClient, connected, namesOf, serverClient } from './redis-clients.ts';
import { redisFailure, withinTime } from './redis-failure.ts';
import { isClusterNode, isReadOnlyReplica } from './redis-info.ts';
import type { RedisScript } from './redis-script.ts';
import { RedisTimings, type RedisUser } from './redis-timings.ts';
import type { RedisTarget } from './redis-url.ts';

/** At the end of the event-loop tick, together with all other calls of it; or at once. */
type Sending = 'with the tick' | 'now';

/**
 * One Redis server, the master behind sentinels, or a cluster. When it cannot be reached, or is silent for the target's
 * `timeoutMs`, every call rejects with {@link StoreUnavailableError}; no call waits for its return.
 */
export class RedisConnection {
  /** Of several servers that are no cluster, the one that answered. */
  readonly target: RedisTarget;
  readonly #client: Redis | Cluster;
  readonly #cork = new TickCork();
  readonly #timings: RedisTimings;
  /** Why the last attempt to connect failed; undefined while there is a connection. */
  #disconnection: unknown;

  private constructor(target: RedisTarget, client: Redis | Cluster, user: RedisUser) {
    this.target = target;
    this.#client = client;
    this.#timings = new RedisTimings(user, () => client.status === 'ready');
    client.on('error', (error) => {
      this.#disconnection = error;
    });
    client.on('ready', () => {
      this.#disconnection = undefined;
    });
  }

  /** @throws StoreUnavailableError when none of the hosts answers and takes writes, or it does not have the database of the URL */
  static async open(target: RedisTarget, user: RedisUser): Promise<RedisConnection> {
    if (target.sentinel !== null) return RedisConnection.#openHost(target, user);
    const connection = await RedisConnection.#openServer(target, user);
    if (!(await connection.#isClusterNode())) return connection;
    connection.close();
    return new RedisConnection(target, await connected(clusterClient(target), target), user);
  }

  /** The first host that answers and is no replica. */
  static async #openServer(target: RedisTarget, user: RedisUser): Promise<RedisConnection> {
    const failures: unknown[] = [];
    for (const host of target.hosts) {
      try {
        const connection = await RedisConnection.#openHost({ ...target, hosts: [host] }, user);
        await connection.#requireMaster();
        return connection;
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures.at(-1);
  }

  static async #openHost(target: RedisTarget, user: RedisUser): Promise<RedisConnection> {
    return new RedisConnection(target, await connected(serverClient(target), target), user);
  }

  get metrics(): readonly Metric[] {
    return this.#timings.metrics;
  }

  /** The client of a cluster; null for a single server. */
  get cluster(): Cluster | null {
    return this.#client instanceof Redis ? null : this.#client;
  }

  async ping(): Promise<void> {
    await this.#call((client) => client.ping());
  }

  /** Runs a script; all keys are in one slot. */
  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    when: Sending = 'with the tick',
  ): Promise<unknown> {
    try {
      return await this.#call((client) => client.evalsha(script.sha, keys.length, ...keys, ...args), when);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return this.#call((client) => client.eval(script.source, keys.length, ...keys, ...args));
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#call((client) =>
      client instanceof Redis ? client.publish(channel, message) : client.spublish(channel, message),
    );
  }

  /** Runs a command, and resolves to the reply that its caller knows it to have. */
  command<Reply>(name: string, ...args: readonly (string | number)[]): Promise<Reply> {
    return this.#call((client) => client.call(name, [...args])) as Promise<Reply>;
  }

  close(): void {
    closeClient(this.#client);
  }

  async #call<Reply>(
    command: (client: Redis | Cluster) => Promise<Reply>,
    when: Sending = 'with the tick',
  ): Promise<Reply> {
    const { cluster } = this;
    const begun = performance.now();
    let failure: unknown;
    try {
      // The cluster client would queue the command until it is ready.
      if (cluster !== null && cluster.status !== 'ready')
        throw new StoreUnavailableError('Redis: no connection');
      if (when === 'now') this.#cork.flush();
      else if (this.#client instanceof Redis && this.#client.status === 'ready')
        this.#cork.cork(this.#client.stream);
      const reply = command(this.#client);
      // The silence of a server ends its connection and the call. A cluster's client may try another node.
      const { connectTimeoutMs, timeoutMs } = this.target;
      return await (cluster === null ? reply : withinTime(reply, connectTimeoutMs + timeoutMs));
    } catch (error) {
      failure = error;
      throw redisFailure(error, this.#disconnection);
    } finally {
      this.#timings.ended(begun, failure);
    }
  }

  /** @throws StoreUnavailableError where the server is the replica of another one: it takes no writes. In a cluster any node will do. */
  async #requireMaster(): Promise<void> {
    if (!isReadOnlyReplica(await this.#info('replication')) || (await this.#isClusterNode())) return;
    this.close();
    throw new StoreUnavailableError(
      `Redis at ${namesOf(this.target)} is a replica, which takes no writes: name the master, or the sentinels that know it`,
    );
  }

  async #isClusterNode(): Promise<boolean> {
    return isClusterNode(await this.#info('cluster'));
  }

  /** A section of what the server reports. The connection is closed where that fails. */
  async #info(section: string): Promise<string> {
    try {
      return await this.#call((client) => client.info(section));
    } catch (error) {
      this.close();
      throw error;
    }
  }
}
