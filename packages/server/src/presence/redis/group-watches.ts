import { randomBytes } from 'node:crypto';
import type { RedisChannels } from '../../redis/redis-channels.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import {
  type PresencePosition,
  type PresenceScope,
  type PresenceWatch,
  type PresenceWatcher,
  WATCH_LEASE_MS,
} from '../presence-store.ts';
import type { DueGroups } from './due-groups.ts';
import { GroupWatch, readEvent, readMessage } from './group-watch.ts';
import type { PresenceEngine } from './presence-engine.ts';

/** How long the index of a project's watched groups outlives its last change, by the clock of Redis. */
const INDEX_RETAINED_MS = 10 * WATCH_LEASE_MS;
/** How often a renewal also renews the group's entry in that index, in milliseconds. */
const INDEX_RENEWAL_MS = WATCH_LEASE_MS / 4;

/** The watches of a group in this process, which share one subscription. */
interface Audience {
  readonly watches: Set<GroupWatch>;
  readonly subscribed: Promise<void>;
}

/** The watches of this process. A group is in the index of watched groups before it is watched, and for as long. */
export class GroupWatches {
  readonly #engine: PresenceEngine;
  readonly #channels: RedisChannels;
  readonly #due: DueGroups;
  readonly #audiences = new Map<string, Audience>();

  constructor(engine: PresenceEngine, channels: RedisChannels, due: DueGroups) {
    this.#engine = engine;
    this.#channels = channels;
    this.#due = due;
  }

  async watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch> {
    const channel = this.#engine.keys.channel(scope);
    const watch = new GroupWatch(watcher);
    try {
      await Promise.all([this.#subscribe(channel, watch), this.#addToIndex(scope, now)]);
      const newEpoch = randomBytes(9).toString('hex');
      const reply = await this.#engine.onGroup('watch', scope, now, now + WATCH_LEASE_MS, newEpoch);
      if (watch.isOver) throw new StoreUnavailableError('Redis: connection lost');
      const [epoch, offset, checksum] = reply as [string, string, string];
      const position = { epoch, offset: Number(offset), checksum };
      watch.begin(position);
      await this.#channels.drain(channel);
      watch.drained();
      return this.#opened(scope, channel, watch, position, now);
    } catch (error) {
      this.#leave(channel, watch);
      throw error;
    }
  }

  async watchedGroups(project: PresenceScope['project'], now: number): Promise<string[]> {
    const { connection, keys } = this.#engine;
    return connection.command('zrangebyscore', keys.watchedGroups(project), `(${now}`, '+inf');
  }

  #opened(
    scope: PresenceScope,
    channel: string,
    watch: GroupWatch,
    position: PresencePosition,
    begunAt: number,
  ): PresenceWatch {
    let indexedAt = begunAt;
    return {
      position,
      since: (from) => this.#since(scope, from),
      renew: async (now) => {
        if (watch.isOver) return;
        await this.#renew(scope, now, position.epoch, watch);
        if (Math.abs(now - indexedAt) < INDEX_RENEWAL_MS) return;
        // The index may be on another node, which is away; the next renewal tries again.
        const isIndexed = await this.#addToIndex(scope, now).then(
          () => true,
          () => false,
        );
        if (isIndexed) indexedAt = now;
      },
      close: () => this.#leave(channel, watch),
    };
  }

  async #since(scope: PresenceScope, { epoch, offset, checksum = '' }: PresencePosition) {
    const reply = await this.#engine.onGroup('since', scope, 0, epoch, offset, checksum);
    if (!Array.isArray(reply)) return null;
    return reply.map((event, index) => [offset + 1 + index, readEvent(event)] as const);
  }

  async #renew(scope: PresenceScope, now: number, epoch: string, watch: GroupWatch): Promise<void> {
    const known = watch.position;
    const reply = await this.#engine.onGroup('renew', scope, now, now + WATCH_LEASE_MS, epoch);
    const [offset, isOverdue, checksum] = reply as [number, number, string];
    // The index may be on another node, which is away; the next renewal tries again.
    if (isOverdue === 1) await this.#due.registerAgain(scope, now).catch(() => {});
    if (offset < 0 || known === null || offset < known.offset) return watch.lose();
    const isOther = offset === known.offset && checksum !== (known.checksum ?? '');
    if (isOther) return watch.lose();
    if (isUpTo(watch, offset)) return;
    // The missing messages may still be on their way, over another connection than this answer.
    await this.#channels.drain(this.#engine.keys.channel(scope));
    if (!isUpTo(watch, offset)) watch.lose();
  }

  async #addToIndex(scope: PresenceScope, now: number): Promise<void> {
    const key = this.#engine.keys.watchedGroups(scope.project);
    // Leases that ended long ago, by any clock.
    const ended = now - INDEX_RETAINED_MS;
    await this.#engine.onIndex(
      'addToIndex',
      key,
      now + WATCH_LEASE_MS,
      scope.groupId,
      INDEX_RETAINED_MS,
      ended,
    );
  }

  async #subscribe(channel: string, watch: GroupWatch): Promise<void> {
    let audience = this.#audiences.get(channel);
    if (audience === undefined) {
      audience = this.#openAudience(channel);
      this.#audiences.set(channel, audience);
    }
    audience.watches.add(watch);
    await audience.subscribed;
  }

  #openAudience(channel: string): Audience {
    const watches = new Set<GroupWatch>();
    const subscribed = this.#channels.subscribe(channel, {
      onMessage(text) {
        const message = readMessage(text);
        // Any client of the Redis can publish anything.
        if (message !== null) for (const watch of watches) watch.receive(message);
      },
      onLost: () => {
        if (this.#audiences.get(channel)?.watches === watches) this.#audiences.delete(channel);
        for (const watch of watches) watch.lose();
      },
    });
    return { watches, subscribed };
  }

  #leave(channel: string, watch: GroupWatch): void {
    watch.end();
    const audience = this.#audiences.get(channel);
    if (audience === undefined || !audience.watches.delete(watch) || audience.watches.size > 0) return;
    this.#audiences.delete(channel);
    this.#channels.unsubscribe(channel);
  }
}

const isUpTo = ({ position }: GroupWatch, offset: number) => position !== null && position.offset >= offset;
