import type { RedisConnection } from '../../redis/redis-connection.ts';
import type { RedisScript } from '../../redis/redis-script.ts';
import type { PresenceScope } from '../presence-store.ts';
import { PresenceKeys } from './presence-keys.ts';
import { type PresenceScripts, presenceScripts } from './presence-scripts.ts';

type OnIndex = 'addToIndex' | 'claim' | 'reschedule';
type OnGroups = 'set';
type OnGroup = Exclude<keyof PresenceScripts, OnIndex | OnGroups>;

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
    return this.#run(this.#scripts[name], this.keys.ofGroup(scope), [now, ...args]);
  }

  /** Runs a script on several groups of one slot, a step for each. Sent at once: the steps are a whole batch already. */
  onGroups(name: OnGroups, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.connection.run(this.#scripts[name], keys, args, 'now');
  }

  onIndex(name: OnIndex, key: string, ...args: readonly (string | number)[]) {
    return this.#run(this.#scripts[name], [key], args);
  }

  #run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.connection.run(script, keys, args);
  }
}
