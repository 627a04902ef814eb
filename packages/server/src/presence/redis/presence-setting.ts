import { Batcher } from '../../concurrency/batcher.ts';
import { Histogram, SIZES } from '../../metrics/metric.ts';
import { redisFailure } from '../../redis/redis-failure.ts';
import { slotOf } from '../../redis/slot.ts';
import type { Json } from '../../values/json.ts';
import {
  type PresenceChange,
  type PresenceScope,
  type PresenceStore,
  type PresenceUpdate,
  UNCHANGED,
} from '../presence-store.ts';
import type { DueEntry, DueGroups } from './due-groups.ts';
import type { PresenceEngine } from './presence-engine.ts';
import { presenceName } from './presence-keys.ts';

/** Replies of lua/set.lua. */
const NO_ENTRY = 0;
const REFRESHED = 1;
const ENTRY_LOST = 2;
const LEASE_ENDED = 3;
const HOLD_ENDED = 4;

/** Most updates of one call. More would save little, and Redis works on these while other requests are read. */
const BATCH_MAX = 16;

type Reply =
  | typeof NO_ENTRY
  | typeof REFRESHED
  | typeof ENTRY_LOST
  | typeof LEASE_ENDED
  | typeof HOLD_ENDED
  | readonly [number, number, Json | null];

interface Step {
  readonly update: PresenceUpdate;
  readonly entry: DueEntry | null;
}

/** Sets users present. The updates of one event-loop tick go in one call to each slot: see lua/set.lua. */
export class PresenceSetting {
  readonly batchSizes = new Histogram(
    { name: 'rollcall_redis_batch_size', help: 'Updates of presence that shared a call of Redis' },
    SIZES,
  );
  readonly #sizes = this.batchSizes.series();
  readonly #engine: PresenceEngine;
  readonly #due: DueGroups;
  readonly #batcher: Batcher<string, Step, Reply>;

  constructor(engine: PresenceEngine, due: DueGroups) {
    this.#engine = engine;
    this.#due = due;
    this.#batcher = new Batcher(BATCH_MAX, (_kind, steps) => this.#run(steps));
  }

  async set(update: PresenceUpdate): Promise<PresenceChange> {
    const slot = isPlain(update) ? `${this.#slotOf(update)}` : `${this.#slotOf(update)} held`;
    let reply = await this.#batcher.add(slot, { update, entry: null });
    if (reply === NO_ENTRY || reply === ENTRY_LOST) {
      const entry = await this.#register(update, update.expiresAt, update.now, reply);
      reply = await this.#batcher.add(`${slot} with entries`, { update, entry });
    }
    if (reply === LEASE_ENDED) return { ...UNCHANGED, leaseEnded: true };
    if (reply === HOLD_ENDED) return { ...UNCHANGED, holdEnded: true };
    if (typeof reply === 'number') return UNCHANGED;
    const [arrived, created, departed] = reply;
    return { arrived: arrived === 1, created: created === 1, departed };
  }

  async release(release: Parameters<PresenceStore['release']>[0]): Promise<void> {
    const { userId, connection, lease = '', at, now, reason = 'absent' } = release;
    this.flush();
    const run = (due: number | string, entry: string) =>
      this.#engine.onGroup('release', release, now, userId, connection, lease, at, due, entry, reason);
    const reply = await run('', '');
    if (reply !== NO_ENTRY && reply !== ENTRY_LOST) return;
    const { due, id } = await this.#register(release, at, now, reply);
    await run(due, id);
  }

  async #register(scope: PresenceScope, deadline: number, now: number, reply: Reply): Promise<DueEntry> {
    return reply === ENTRY_LOST
      ? await this.#due.registerAgain(scope, now).catch(() => unregistered(now))
      : await this.#due.register(scope, deadline, now);
  }

  /** Sends the waiting updates at once, so that what is sent next cannot overtake them. */
  flush(): void {
    this.#batcher.flush();
  }

  async #run(steps: readonly Step[]): Promise<(Reply | Error)[]> {
    this.#sizes.observe(steps.length);
    const { keys } = this.#engine;
    const names: string[] = [];
    const args: (string | number)[] = [];
    for (const { update, entry } of steps) {
      const { location, expiresAt, now, lease = '', data = '', condition = '' } = update;
      names.push(...keys.ofGroup(update));
      args.push(now, presenceName(update), location, expiresAt);
      if (entry !== null) args.push(entry.due, entry.id);
      else if (!isPlain(update)) args.push('', '');
      if (!isPlain(update)) args.push(lease, data ?? 'null', condition);
    }
    const replies = (await this.#engine.set(names, args)) as (Reply | Error)[];
    return replies.map((reply) => (reply instanceof Error ? redisFailure(reply) : reply));
  }

  /** Without a cluster all slots are one. */
  #slotOf(update: PresenceUpdate): number {
    const { connection, keys } = this.#engine;
    return connection.cluster === null ? 0 : slotOf(keys.channel(update));
  }
}

/** Without a connection and data, so that it has no more arguments than it needs. */
const isPlain = ({ connection, data }: PresenceUpdate) => connection === undefined && data === undefined;

/**
 * Replaces an entry that cannot be made, because the node of the index is away while that of the group is not. No sweep
 * finds it, so the group is overdue again in some seconds, and a later update registers it.
 */
const unregistered = (now: number): DueEntry => ({ id: 'unlisted', due: now });
