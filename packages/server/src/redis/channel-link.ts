import type { Redis } from 'ioredis';
import { Repeated } from '../concurrency/repeated.ts';
import { StoreUnavailableError } from '../values/engine-errors.ts';
import { closeClient } from './redis-clients.ts';
import { redisFailure } from './redis-failure.ts';

/** The callbacks of a subscription of a channel. Neither function may throw. */
export interface ChannelListener {
  onMessage(text: string): void;
  /** Messages may have been missed, and no more come. */
  onLost(): void;
}

/** How often the server is pinged, in milliseconds. */
const PING_INTERVAL_MS = 1_000;

/** The channels that one connection is subscribed to. When it breaks, all subscriptions are lost; nothing renews them. */
export class ChannelLink {
  readonly #client: Redis;
  readonly #isSharded: boolean;
  readonly #listeners = new Map<string, ChannelListener>();
  readonly #pinging: NodeJS.Timeout;
  /** The client closes a connection on which a ping is not answered. */
  readonly #pings = new Repeated(() => this.#ping());

  /** @param client connected */
  constructor(client: Redis, isSharded: boolean) {
    this.#client = client;
    this.#isSharded = isSharded;
    client.on('close', () => this.#lose());
    client.on(isSharded ? 'smessage' : 'message', (channel: string, text: string) => {
      this.#listeners.get(channel)?.onMessage(text);
    });
    this.#pinging = setInterval(() => void this.#pings.request(), PING_INTERVAL_MS).unref();
  }

  /** @throws StoreUnavailableError */
  async subscribe(channel: string, listener: ChannelListener): Promise<void> {
    this.#listeners.set(channel, listener);
    try {
      await (this.#isSharded ? this.#client.ssubscribe(channel) : this.#client.subscribe(channel));
    } catch (error) {
      if (this.#listeners.get(channel) === listener) this.#listeners.delete(channel);
      throw redisFailure(error);
    }
    if (this.#listeners.get(channel) !== listener) throw new StoreUnavailableError('Redis: connection lost');
  }

  unsubscribe(channel: string): void {
    if (!this.#listeners.delete(channel)) return;
    const unsubscribed = this.#isSharded
      ? this.#client.sunsubscribe(channel)
      : this.#client.unsubscribe(channel);
    unsubscribed.catch(() => {});
  }

  /** See {@link RedisChannels.drain}: a server answers in order, messages and pings alike. */
  async drain(): Promise<void> {
    await this.#client.ping().catch(() => {});
  }

  close(): void {
    clearInterval(this.#pinging);
    this.#listeners.clear();
    closeClient(this.#client);
  }

  #lose(): void {
    const lost = [...this.#listeners.values()];
    this.#listeners.clear();
    for (const listener of lost) listener.onLost();
  }

  async #ping(): Promise<void> {
    if (this.#client.status === 'ready') await this.#client.ping().catch(() => {});
  }
}
