import type { PresenceFilter } from '../../core/presence/presence-reading.ts';
import type { ReaderEvent } from '../events/reader-event.ts';
import type { Channel } from './channel.ts';
import { ChannelIndex } from './channel-index.ts';

/** The channels of a group, one for each filter. */
export class ChannelSet {
  readonly #channels = new Map<string, Channel>();
  readonly #index = new ChannelIndex<Channel>();

  get size(): number {
    return this.#channels.size;
  }

  [Symbol.iterator](): Iterator<Channel> {
    return this.#channels.values();
  }

  get(filter: PresenceFilter): Channel | undefined {
    return this.#channels.get(keyOf(filter));
  }

  add(channel: Channel): void {
    this.#channels.set(keyOf(channel.view.filter), channel);
    this.#index.add(channel);
  }

  close(channel: Channel): void {
    // Another channel may have replaced it.
    if (this.get(channel.view.filter) === channel) this.#channels.delete(keyOf(channel.view.filter));
    this.#index.remove(channel);
    channel.close();
  }

  *showingDurable(): Generator<Channel> {
    for (const channel of this) if (channel.isOpen && !channel.view.filter.excludeDurable) yield channel;
  }

  /** The channels that show names and pictures, this user's among them. */
  *showingUsers(userId: string): Generator<Channel> {
    for (const channel of this) if (channel.isOpen && channel.showsUser(userId)) yield channel;
  }

  /** Whether a channel shows names and pictures. */
  get hasUsers(): boolean {
    for (const channel of this) if (channel.view.showsUsers) return true;
    return false;
  }

  near(event: ReaderEvent): Iterable<Channel> {
    if (event.type === 'user') return this.showingUsers(event.userId);
    const { location } = event;
    const from = event.type === 'arrived' ? event.from : null;
    return from === null ? this.#index.near(location) : this.#index.near(location, from);
  }
}

const keyOf = ({ location, excludeDurable, expand = [] }: PresenceFilter) =>
  JSON.stringify([location, excludeDurable, expand]);
