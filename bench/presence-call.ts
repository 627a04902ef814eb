/** The script of PUT presence, called by something that is no Rollcall: a bare client, a bare HTTP server. */
import { Redis } from 'ioredis';
import { PresenceKeys, presenceName } from '../packages/server/src/presence/redis/presence-keys.ts';
import { presenceScripts } from '../packages/server/src/presence/redis/presence-scripts.ts';
import { parseRedisUrl } from '../packages/server/src/redis/redis-url.ts';

/** Users and locations that are set present until tomorrow; region and location in canonical form. */
export interface PresenceStep {
  readonly groupId: string;
  readonly userId: string;
  readonly region: string;
  readonly location: string;
}

const DAY_MS = 86_400_000;
/** The reply of lua/set.lua where the group has no entry. */
const NO_ENTRY = 0;

/** Connects, and returns a function that applies steps by one EVALSHA. `project` is the store's key of the project. */
export async function openPresenceCall(
  redisUrl: string,
  project: string,
): Promise<(steps: readonly PresenceStep[]) => Promise<unknown[]>> {
  const target = parseRedisUrl(redisUrl);
  const [host] = target.hosts;
  const client = new Redis({ host: host?.host ?? '127.0.0.1', port: host?.port ?? 6_379, db: target.db });
  const keys = new PresenceKeys(target);
  const { source } = presenceScripts(target.db, 'PUBLISH').set;
  const sha = (await client.script('LOAD', source)) as string;
  const call = (steps: readonly PresenceStep[], entry: readonly (string | number)[]) => {
    const names: string[] = [];
    const args: (string | number)[] = [];
    for (const { groupId, userId, region, location } of steps) {
      const now = Date.now();
      names.push(...keys.ofGroup({ project, groupId }));
      const name = presenceName({ userId, incarnation: 1_234_567_890, region });
      args.push(now, name, location, now + DAY_MS, ...entry);
    }
    return client.evalsha(sha, names.length, ...names, ...args) as Promise<unknown[]>;
  };
  return async (steps) => {
    const replies = await call(steps, []);
    // The first in a group makes the group's entry in the index of due groups; nothing is to expire meanwhile.
    return replies.includes(NO_ENTRY) ? call(steps, [Date.now() + DAY_MS, 'bare']) : replies;
  };
}
