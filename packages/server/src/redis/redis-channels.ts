import { StoreUnavailableError } from '../values/engine-errors.ts';
import { ChannelLink, type ChannelListener } from './channel-link.ts';
import { connected, nodeClient, serverClient } from './redis-clients.ts';
import type { RedisConnection } from './redis-connection.ts';
import { slotOf } from './slot.ts';

/** The channels of a Redis, on connections of their own. A channel has one listener at a time. */
export interface RedisChannels {
  /** Resolves when every later message will be received. @throws StoreUnavailableError */
  subscribe(channel: string, listener: ChannelListener): Promise<void>;
  unsubscribe(channel: string): void;
  /** Resolves when every message of the channel that was published before the call has been received, or the channel is lost. */
  drain(channel: string): Promise<void>;
  close(): void;
}

/** @throws StoreUnavailableError */
export async function openChannels(connection: RedisConnection): Promise<RedisChannels> {
  if (connection.cluster !== null) return new ShardedChannels(connection);
  const { target } = connection;
  return new ChannelLink(await connected(serverClient(target), target), false);
}

/** In a cluster, a message of a channel is received from the node that has its slot. */
class ShardedChannels implements RedisChannels {
  readonly #connection: RedisConnection;
  readonly #links = new Map<string, Promise<ChannelLink>>();
  readonly #nodes = new Map<string, string>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<void> {
    const node = this.#connection.cluster?.slots[slotOf(channel)]?.[0];
    try {
      if (node === undefined) throw new StoreUnavailableError('Redis: no node has the slot');
      // Set before the first await: `unsubscribe` finds the node, and its command is sent after this one.
      this.#nodes.set(channel, node);
      const link = await this.#link(node);
      await link.subscribe(channel, listener);
    } catch (error) {
      // Another node may have the slot by now. A process that only subscribes notices that in no other way.
      this.#connection.cluster?.refreshSlotsCache();
      throw error;
    }
  }

  unsubscribe(channel: string): void {
    const link = this.#links.get(this.#nodes.get(channel) ?? '');
    this.#nodes.delete(channel);
    // Sent in the order of the calls, between earlier and later `subscribe` calls. A link that cannot be opened has no channels.
    void link?.then(
      (open) => open.unsubscribe(channel),
      () => {},
    );
  }

  async drain(channel: string): Promise<void> {
    const link = await this.#openLink(this.#nodes.get(channel));
    await link?.drain();
  }

  close(): void {
    for (const node of this.#links.keys()) void this.#openLink(node).then((open) => open?.close());
    this.#links.clear();
  }

  /** The link to a node once it is open; null without one, and where it cannot be opened, which is reported to who subscribes. */
  async #openLink(node: string | undefined): Promise<ChannelLink | null> {
    return (await this.#links.get(node ?? '')?.catch(() => null)) ?? null;
  }

  #link(node: string): Promise<ChannelLink> {
    const known = this.#links.get(node);
    if (known !== undefined) return known;
    const link = this.#open(node);
    this.#links.set(node, link);
    link.catch(() => this.#links.delete(node));
    return link;
  }

  async #open(node: string): Promise<ChannelLink> {
    const { target, cluster } = this.#connection;
    const colon = node.lastIndexOf(':');
    const host = { host: node.slice(0, colon), port: Number(node.slice(colon + 1)) };
    const client = await connected(nodeClient(target, host), { ...target, hosts: [host] });
    const link = new ChannelLink(client, true);
    client.once('end', () => {
      this.#links.delete(node);
      for (const [channel, of] of this.#nodes) if (of === node) this.#nodes.delete(channel);
      link.close();
    });
    // A slot has moved to another node, and its channels with it. Once: the event comes for each channel.
    client.once('moved', () => {
      cluster?.refreshSlotsCache();
      client.disconnect();
    });
    return link;
  }
}
