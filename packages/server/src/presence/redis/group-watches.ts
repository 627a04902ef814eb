import { randomBytes } from 'node:crypto';
import type { RedisChannels } from '../../redis/redis-channels.ts';
import { StoreUnavailableError } from '../../store/store.ts';
import {
  type PresenceEvent,
  type PresencePosition,
  type PresenceScope,
  type PresenceWatch,
  type PresenceWatcher,
  WATCH_LEASE_MS,
} from '../presence-store.ts';
import { GroupWatch, readMessage } from './group-watch.ts';
import type { PresenceEngine } from './presence-engine.ts';

/** How long the index of a project's watched groups outlives the last sign of life, by the clock of Redis. */
const INDEX_KEPT_MS = 10 * WATCH_LEASE_MS;

/** Those of this process who watch a group, over one subscription. */
interface Audience {
  readonly watches: Set<GroupWatch>;
  readonly listening: Promise<void>;
}

/** The watches of this process. A group is in the index of watched groups before it is watched, and for as long. */
export class GroupWatches {
  readonly #engine: PresenceEngine;
  readonly #channels: RedisChannels;
  readonly #audiences = new Map<string, Audience>();

  constructor(engine: PresenceEngine, channels: RedisChannels) {
    this.#engine = engine;
    this.#channels = channels;
  }

  async watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch> {
    const channel = this.#engine.keys.channel(scope);
    const watch = new GroupWatch(watcher);
    try {
      await Promise.all([this.#listen(channel, watch), this.#enlist(scope, now)]);
      const newEpoch = randomBytes(9).toString('hex');
      const reply = await this.#engine.onGroup('watch', scope, now, now + WATCH_LEASE_MS, newEpoch);
      if (watch.isOver) throw new StoreUnavailableError('Redis: connection lost');
      const [epoch, offset] = reply as [string, string];
      const position = { epoch, offset: Number(offset) };
      watch.begin(position);
      return this.#opened(scope, channel, watch, position);
    } catch (error) {
      this.#leave(channel, watch);
      throw error;
    }
  }

  async watchedGroups(project: PresenceScope['project'], now: number): Promise<string[]> {
    return this.#engine.connection.listMembersAbove(this.#engine.keys.watchedGroups(project), now);
  }

  #opened(
    scope: PresenceScope,
    channel: string,
    watch: GroupWatch,
    position: PresencePosition,
  ): PresenceWatch {
    return {
      position,
      since: (from) => this.#since(scope, from),
      renew: (now) => this.#renew(scope, now, position.epoch, watch),
      close: () => this.#leave(channel, watch),
    };
  }

  async #since(scope: PresenceScope, { epoch, offset }: PresencePosition) {
    const reply = await this.#engine.onGroup('since', scope, 0, epoch, offset);
    if (!Array.isArray(reply)) return null;
    return reply.map((event, index) => [offset + 1 + index, JSON.parse(event) as PresenceEvent] as const);
  }

  async #renew(scope: PresenceScope, now: number, epoch: string, watch: GroupWatch): Promise<void> {
    if (watch.isOver) return;
    await this.#enlist(scope, now);
    const isRenewed = await this.#engine.onGroup('renew', scope, now, now + WATCH_LEASE_MS, epoch);
    if (isRenewed === 0) watch.lose();
  }

  async #enlist(scope: PresenceScope, now: number): Promise<void> {
    const key = this.#engine.keys.watchedGroups(scope.project);
    // Leases that ended long ago, by whatever clock.
    const ended = now - INDEX_KEPT_MS;
    await this.#engine.onIndex('enlist', key, now + WATCH_LEASE_MS, scope.groupId, INDEX_KEPT_MS, ended);
  }

  async #listen(channel: string, watch: GroupWatch): Promise<void> {
    let audience = this.#audiences.get(channel);
    if (audience === undefined) {
      audience = this.#gather(channel);
      this.#audiences.set(channel, audience);
    }
    audience.watches.add(watch);
    await audience.listening;
  }

  #gather(channel: string): Audience {
    const watches = new Set<GroupWatch>();
    const listening = this.#channels.listen(channel, {
      onMessage(text) {
        const message = readMessage(text);
        // Whoever can reach a Redis can publish anything.
        if (message !== null) for (const watch of watches) watch.hear(message);
      },
      onLost: () => {
        if (this.#audiences.get(channel)?.watches === watches) this.#audiences.delete(channel);
        for (const watch of watches) watch.lose();
      },
    });
    return { watches, listening };
  }

  #leave(channel: string, watch: GroupWatch): void {
    watch.end();
    const audience = this.#audiences.get(channel);
    if (audience === undefined || !audience.watches.delete(watch) || audience.watches.size > 0) return;
    this.#audiences.delete(channel);
    this.#channels.leave(channel);
  }
}
