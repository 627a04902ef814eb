import { randomBytes } from 'node:crypto';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Metric } from '../../metrics/metric.ts';
import { openChannels, type RedisChannels } from '../../redis/redis-channels.ts';
import { RedisConnection } from '../../redis/redis-connection.ts';
import { parseRedisUrl } from '../../redis/redis-url.ts';
import { type Broker, type Notification, SUBJECT_FIELDS, type Subject } from '../broker.ts';
import { BrokerCounts } from '../broker-counts.ts';
import { ChangeListeners } from '../change-listeners.ts';

/** How long after a failure channels are subscribed to again, in milliseconds. */
const RESUBSCRIBE_MS = 200;
/** How many are tried at once: while all of them fail, no others are. */
const RESUBSCRIBED_AT_ONCE = 100;

/**
 * Opens the Broker (see the port) on Redis, for all processes with the same server and prefix.
 * @throws RedisUrlError, StoreUnavailableError
 */
export async function openRedisBroker({ url }: { readonly url: string }): Promise<Broker> {
  const connection = await RedisConnection.open(parseRedisUrl(url), 'broker');
  let channels: RedisChannels | undefined;
  try {
    channels = await openChannels(connection);
    const broker = new RedisBroker(connection, channels);
    await broker.subscribeCommon();
    return broker;
  } catch (error) {
    channels?.close();
    connection.close();
    throw error;
  }
}

/** A channel that is subscribed to again after each failure, for as long as it is followed. */
interface FollowedChannel {
  readonly name: string;
  /** How often it is followed. */
  count: number;
}

/**
 * The listeners of this process are called at once, whether or not Redis can be reached; its own messages are skipped when
 * they come back. What other processes publish while the connection is broken is missed, as the port allows.
 */
class RedisBroker implements Broker {
  readonly #connection: RedisConnection;
  readonly #channels: RedisChannels;
  /** The channel of what is for every process. */
  readonly #common: FollowedChannel;
  /** By name. */
  readonly #followed = new Map<string, FollowedChannel>();
  /** Those that are to be subscribed to again. */
  readonly #lost = new Set<FollowedChannel>();
  /** The same, of which some could not be: as long as a node is away, lost channels of other nodes are tried before them. */
  readonly #failed = new Set<FollowedChannel>();
  readonly #recovery = new Repeated(() => this.#recover());
  readonly #self = randomBytes(9).toString('base64url');
  readonly #listeners = new ChangeListeners();
  readonly #counts = new BrokerCounts();

  constructor(connection: RedisConnection, channels: RedisChannels) {
    this.#connection = connection;
    this.#channels = channels;
    this.#common = { name: this.#channelName('{changes}'), count: 1 };
    this.#followed.set(this.#common.name, this.#common);
  }

  /** @throws StoreUnavailableError */
  subscribeCommon(): Promise<void> {
    return this.#subscribe(this.#common);
  }

  follow(subject: Subject): () => void {
    const name = this.#channelOf(subject);
    const channel = this.#followed.get(name) ?? { name, count: 0 };
    channel.count += 1;
    if (channel.count === 1) {
      this.#followed.set(name, channel);
      this.#subscribe(channel).catch(() => this.#lose(channel));
    }
    let isFollowing = true;
    return () => {
      if (!isFollowing) return;
      isFollowing = false;
      channel.count -= 1;
      if (channel.count > 0) return;
      this.#followed.delete(name);
      this.#lost.delete(channel);
      this.#failed.delete(channel);
      this.#channels.unsubscribe(name);
    };
  }

  get metrics(): readonly Metric[] {
    return [...this.#connection.metrics, ...this.#counts.metrics];
  }

  ping(): Promise<void> {
    return this.#connection.ping();
  }

  async close(): Promise<void> {
    void this.#recovery.close();
    this.#followed.clear();
    this.#lost.clear();
    this.#failed.clear();
    this.#listeners.clear();
    this.#channels.close();
    this.#connection.close();
  }

  async publish(change: Notification): Promise<void> {
    this.#counts.published(change);
    // Sent before listeners are called, so that what a listener publishes comes later on other processes too.
    const sent = this.#connection.publish(
      this.#channelOf(change),
      JSON.stringify({ publisher: this.#self, change }),
    );
    this.#listeners.notify(change);
    await sent;
  }

  subscribe(listener: (change: Notification) => void): () => void {
    return this.#listeners.add(listener);
  }

  #receive(text: string): void {
    const message = readMessage(text);
    if (message === null || message.publisher === this.#self) return;
    this.#counts.received(message.change);
    this.#listeners.notify(message.change);
  }

  #channelOf(about: Subject | Notification): string {
    const parts = SUBJECT_FIELDS[about.type].map((field) => about[field as keyof typeof about]);
    return parts.length === 0 ? this.#common.name : this.#channelName(about.type, ...parts);
  }

  #channelName(...parts: readonly (string | number)[]): string {
    const { prefix, db } = this.#connection.target;
    return [prefix, db, ...parts].join(':');
  }

  #subscribe({ name }: FollowedChannel): Promise<void> {
    return this.#channels.subscribe(name, {
      onMessage: (text) => this.#receive(text),
      onLost: () => this.#lose(this.#followed.get(name)),
    });
  }

  #lose(channel: FollowedChannel | undefined): void {
    // One that is followed no more, or anew by another one with its name, is subscribed to no more.
    if (channel === undefined || this.#followed.get(channel.name) !== channel) return;
    this.#lost.add(channel);
    this.#recovery.requestAfter(RESUBSCRIBE_MS);
  }

  /** Subscribes to lost channels, some at a time, until none is left or none of them succeeds. */
  async #recover(): Promise<void> {
    for (let hasSucceeded = true; hasSucceeded && this.#lost.size + this.#failed.size > 0; ) {
      const lost = [...this.#lost];
      const some = lost.slice(0, RESUBSCRIBED_AT_ONCE);
      some.push(...this.#failed.values().take(RESUBSCRIBED_AT_ONCE - some.length));
      for (const channel of some) {
        this.#lost.delete(channel);
        this.#failed.delete(channel);
      }
      const tried = await Promise.allSettled(some.map((channel) => this.#subscribe(channel)));
      hasSucceeded = tried.some(({ status }) => status === 'fulfilled');
      for (const [index, { status }] of tried.entries()) if (status === 'rejected') this.#lose(some[index]);
      if (hasSucceeded) continue;
      for (const channel of [...lost, ...some]) if (this.#lost.delete(channel)) this.#failed.add(channel);
    }
  }
}

/** Null for a foreign message: every client of a Redis can publish anything. */
function readMessage(text: string): { publisher: string; change: Notification } | null {
  try {
    const { publisher, change } = JSON.parse(text);
    return typeof change.type === 'string' ? { publisher, change } : null;
  } catch {
    return null;
  }
}
