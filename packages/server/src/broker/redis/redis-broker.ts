import { randomBytes } from 'node:crypto';
import { openChannels, type RedisChannels } from '../../redis/redis-channels.ts';
import { RedisConnection } from '../../redis/redis-connection.ts';
import { parseRedisUrl } from '../../redis/redis-url.ts';
import type { Broker, Change } from '../broker.ts';
import { ChangeListeners } from '../change-listeners.ts';

/** How long after a failure the channel is subscribed to again, in milliseconds. */
const RESUBSCRIBE_MS = 200;

/**
 * Opens the Broker (see the port) on Redis, for all processes with the same server and prefix.
 * @throws RedisUrlError, StoreUnavailableError
 */
export async function openRedisBroker({ url }: { readonly url: string }): Promise<Broker> {
  const connection = await RedisConnection.open(parseRedisUrl(url));
  try {
    const broker = new RedisBroker(connection, await openChannels(connection));
    await broker.subscribeChannel();
    return broker;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * The listeners of this process are called at once, whether or not Redis can be reached; its own messages are skipped when
 * they come back. What other processes publish while the connection is broken is missed, as the port allows.
 */
class RedisBroker implements Broker {
  readonly #connection: RedisConnection;
  readonly #channels: RedisChannels;
  readonly #channel: string;
  readonly #self = randomBytes(9).toString('base64url');
  readonly #listeners = new ChangeListeners();
  #isClosed = false;

  constructor(connection: RedisConnection, channels: RedisChannels) {
    const { prefix, db } = connection.target;
    this.#connection = connection;
    this.#channels = channels;
    this.#channel = `${prefix}:${db}:{changes}`;
  }

  /** @throws StoreUnavailableError */
  async subscribeChannel(): Promise<void> {
    await this.#channels.subscribe(this.#channel, {
      onMessage: (text) => this.#receive(text),
      onLost: () => this.#resubscribe(),
    });
  }

  ping(): Promise<void> {
    return this.#connection.ping();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#channels.close();
    this.#connection.close();
  }

  async publish(change: Change): Promise<void> {
    // Sent before listeners are called, so that what a listener publishes comes later on other processes too.
    const sent = this.#connection.publish(this.#channel, JSON.stringify({ publisher: this.#self, change }));
    this.#listeners.notify(change);
    await sent;
  }

  subscribe(listener: (change: Change) => void): () => void {
    return this.#listeners.add(listener);
  }

  #receive(text: string): void {
    const message = readMessage(text);
    if (message !== null && message.publisher !== this.#self) this.#listeners.notify(message.change);
  }

  #resubscribe(): void {
    setTimeout(() => {
      if (!this.#isClosed) this.subscribeChannel().catch(() => this.#resubscribe());
    }, RESUBSCRIBE_MS).unref();
  }
}

/** Null for a foreign message: every client of a Redis can publish anything. */
function readMessage(text: string): { publisher: string; change: Change } | null {
  try {
    const { publisher, change } = JSON.parse(text);
    return typeof change.type === 'string' ? { publisher, change } : null;
  } catch {
    return null;
  }
}
