import { Gathered } from '../../gathered.ts';
import { redisFailure } from '../../redis/redis-failure.ts';
import { slotOf } from '../../redis/slot.ts';
import type { Json } from '../../store/store.ts';
import type { PresenceChange, PresenceUpdate } from '../presence-store.ts';
import type { DueEntry, DueGroups } from './due-groups.ts';
import type { PresenceEngine } from './presence-engine.ts';
import { presenceName } from './presence-keys.ts';

const UNCHANGED: PresenceChange = Object.freeze({ arrived: false, created: false, departed: null });

/** What lua/set.lua answers where it did nothing, and where it put off a deadline. */
const NO_ENTRY = 0;
const REFRESHED = 1;
const ENTRY_LOST = 2;

/** Most that one call sets. More would save little, and Redis works on these while the others are being read. */
const MOST_TOGETHER = 16;

type Reply = typeof NO_ENTRY | typeof REFRESHED | typeof ENTRY_LOST | readonly [number, number, Json | null];

interface Step {
  readonly update: PresenceUpdate;
  readonly entry: DueEntry | null;
}

/** Sets users present. What comes in one turn of the event loop goes in one call to each slot: see lua/set.lua. */
export class PresenceSetting {
  readonly #engine: PresenceEngine;
  readonly #due: DueGroups;
  readonly #gathered: Gathered<string, Step, Reply>;

  constructor(engine: PresenceEngine, due: DueGroups) {
    this.#engine = engine;
    this.#due = due;
    this.#gathered = new Gathered(MOST_TOGETHER, (_kind, steps) => this.#run(steps));
  }

  async set(update: PresenceUpdate): Promise<PresenceChange> {
    const slot = this.#slotOf(update);
    let reply = await this.#gathered.ask(`${slot}`, { update, entry: null });
    if (reply === NO_ENTRY || reply === ENTRY_LOST) {
      const entry =
        reply === ENTRY_LOST
          ? await this.#due.enlistAgain(update, update.now).catch(() => unlisted(update))
          : await this.#due.enter(update, update.expiresAt, update.now);
      reply = await this.#gathered.ask(`${slot} with entries`, { update, entry });
    }
    if (typeof reply === 'number') return UNCHANGED;
    const [arrived, created, departed] = reply;
    return { arrived: arrived === 1, created: created === 1, departed };
  }

  /** Sends what waits at once: for what must not overtake it. */
  flush(): void {
    this.#gathered.flush();
  }

  async #run(steps: readonly Step[]): Promise<(Reply | Error)[]> {
    const { keys } = this.#engine;
    const names: string[] = [];
    const args: (string | number)[] = [];
    for (const { update, entry } of steps) {
      const { location, expiresAt, now } = update;
      names.push(...keys.ofGroup(update));
      args.push(now, presenceName(update), location, expiresAt);
      if (entry !== null) args.push(entry.due, entry.id);
    }
    const replies = (await this.#engine.onGroups('set', names, args)) as (Reply | Error)[];
    return replies.map((reply) => (reply instanceof Error ? redisFailure(reply) : reply));
  }

  /** Without a cluster all slots are one. */
  #slotOf(update: PresenceUpdate): number {
    const { connection, keys } = this.#engine;
    return connection.cluster === null ? 0 : slotOf(keys.channel(update));
  }
}

/**
 * Stands for an entry that cannot be made, because the node of the index is away while that of the group is not. No sweep
 * finds it, so the group is overdue again in some seconds, and a later update enters it.
 */
const unlisted = ({ now }: PresenceUpdate): DueEntry => ({ id: 'unlisted', due: now });
