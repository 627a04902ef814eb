import type { RedisConnection } from '../../redis/redis-connection.ts';
import type { PresenceScope } from '../presence-store.ts';
import { PresenceKeys } from './presence-keys.ts';
import { type PresenceScripts, presenceScripts } from './presence-scripts.ts';

type OnIndex = 'addToIndex' | 'claim' | 'reschedule';
type OnGroup = Exclude<keyof PresenceScripts, OnIndex | 'set'>;

/** The scripts of presence and the keys that they work on. */
export class PresenceEngine {
  readonly connection: RedisConnection;
  readonly keys: PresenceKeys;
  readonly #scripts: PresenceScripts;

  constructor(connection: RedisConnection) {
    this.connection = connection;
    this.keys = new PresenceKeys(connection.target);
    this.#scripts = presenceScripts(
      connection.target.db,
      connection.cluster === null ? 'PUBLISH' : 'SPUBLISH',
    );
  }

  /** Runs a script on a group: one atomic step. */
  onGroup(
    name: OnGroup,
    scope: PresenceScope,
    now: number,
    ...args: readonly (string | number)[]
  ): Promise<unknown> {
    return this.connection.run(this.#scripts[name], this.keys.ofGroup(scope), [now, ...args]);
  }

  /** Runs `set` on several groups of one slot, a step for each. Sent at once: the steps are a whole batch already. */
  set(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.connection.run(this.#scripts.set, keys, args, 'now');
  }

  onIndex(name: OnIndex, key: string, ...args: readonly (string | number)[]) {
    return this.connection.run(this.#scripts[name], [key], args);
  }
}
