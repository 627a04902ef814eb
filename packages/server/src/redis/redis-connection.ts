import { type Cluster, Redis } from 'ioredis';
import { StoreUnavailableError } from '../store/store.ts';
import { closeClient, clusterClient, connected, serverClient } from './redis-clients.ts';
import { redisFailure, withinTime } from './redis-failure.ts';
import type { RedisScript } from './redis-script.ts';
import type { RedisTarget } from './redis-url.ts';

/** At the end of the turn of the event loop, together with all that is asked in it; or at once. */
type Sending = 'with the turn' | 'now';

/**
 * A Redis, be it one server, the master behind sentinels or a cluster. Where it cannot be reached, or is silent for
 * the target's `timeoutMs`, every call rejects with {@link StoreUnavailableError}; nothing waits for it to come back.
 */
export class RedisConnection {
  /** What was connected to: of several servers that are no cluster, the one that answered. */
  readonly target: RedisTarget;
  readonly #client: Redis | Cluster;
  #corked: { readonly stream: Redis['stream']; readonly end: NodeJS.Immediate } | null = null;

  private constructor(target: RedisTarget, client: Redis | Cluster) {
    this.target = target;
    this.#client = client;
  }

  /** @throws StoreUnavailableError when none of the hosts answers */
  static async open(target: RedisTarget): Promise<RedisConnection> {
    const connection = await RedisConnection.#openServer(target);
    if (target.sentinel !== null || !(await connection.#isClusterNode())) return connection;
    connection.close();
    return new RedisConnection(target, await connected(clusterClient(target), target));
  }

  /** The first of the hosts that answers, or the master that the sentinels name. */
  static async #openServer(target: RedisTarget): Promise<RedisConnection> {
    if (target.sentinel !== null) return RedisConnection.#openHost(target);
    const failures: unknown[] = [];
    for (const host of target.hosts) {
      try {
        return await RedisConnection.#openHost({ ...target, hosts: [host] });
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures.at(-1);
  }

  static async #openHost(target: RedisTarget): Promise<RedisConnection> {
    return new RedisConnection(target, await connected(serverClient(target), target));
  }

  /** The cluster's client; null where this is no cluster. */
  get cluster(): Cluster | null {
    return this.#client instanceof Redis ? null : this.#client;
  }

  async ping(): Promise<void> {
    await this.#ask((client) => client.ping());
  }

  /** Runs a script; all keys are in one slot. */
  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
    when: Sending = 'with the turn',
  ): Promise<unknown> {
    try {
      return await this.#ask((client) => client.evalsha(script.sha, keys.length, ...keys, ...args), when);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return this.#ask((client) => client.eval(script.source, keys.length, ...keys, ...args));
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#ask((client) =>
      client instanceof Redis ? client.publish(channel, message) : client.spublish(channel, message),
    );
  }

  /** Members of a sorted set whose scores do not matter, in order, after `after`. */
  listMembers(key: string, after: string | null, limit: number): Promise<string[]> {
    const from = after === null ? '-' : `(${after}`;
    return this.#ask((client) => client.zrangebylex(key, from, '+', 'LIMIT', 0, limit));
  }

  /** Members of a sorted set whose score is higher. */
  listMembersAbove(key: string, score: number): Promise<string[]> {
    return this.#ask((client) => client.zrangebyscore(key, `(${score}`, '+inf'));
  }

  async removeMember(key: string, member: string): Promise<void> {
    await this.#ask((client) => client.zrem(key, member));
  }

  close(): void {
    closeClient(this.#client);
  }

  async #ask<Reply>(
    question: (client: Redis | Cluster) => Promise<Reply>,
    when: Sending = 'with the turn',
  ): Promise<Reply> {
    const { cluster } = this;
    // It would keep what it is asked until it is ready.
    if (cluster !== null && cluster.status !== 'ready')
      throw new StoreUnavailableError('Redis: no connection');
    try {
      if (when === 'now') this.#send();
      else if (this.#client instanceof Redis) this.#gather(this.#client);
      const reply = question(this.#client);
      // A server's silence ends its connection and with it what was asked. A cluster's client may go on to another node.
      const { connectTimeoutMs, timeoutMs } = this.target;
      return await (cluster === null ? reply : withinTime(reply, connectTimeoutMs + timeoutMs));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  /** What is asked in one turn of the event loop goes out in one write: a system call costs more than a command. */
  #gather({ stream, status }: Redis): void {
    if (this.#corked !== null || status !== 'ready') return;
    stream.cork();
    this.#corked = { stream, end: setImmediate(() => this.#send()) };
  }

  #send(): void {
    if (this.#corked === null) return;
    const { stream, end } = this.#corked;
    this.#corked = null;
    clearImmediate(end);
    stream.uncork();
  }

  async #isClusterNode(): Promise<boolean> {
    try {
      return /^cluster_enabled:1/m.test(await this.#ask((client) => client.info('cluster')));
    } catch (error) {
      this.close();
      throw error;
    }
  }
}
