/** The script of PUT presence, called by something that is no Rollcall: a bare client, a bare HTTP server. */
import { Redis } from 'ioredis';
import { PresenceKeys, presenceName } from '../packages/server/src/presence/redis/presence-keys.ts';
import { presenceScripts } from '../packages/server/src/presence/redis/presence-scripts.ts';
import { parseRedisUrl } from '../packages/server/src/redis/redis-url.ts';

/** Who is set present where, until tomorrow; region and location in canonical form. */
export interface PresenceStep {
  readonly groupId: string;
  readonly userId: string;
  readonly region: string;
  readonly location: string;
}

const DAY_MS = 86_400_000;

/** Connects, and gives what carries out steps by one EVALSHA. `project` is the store's key of the project. */
export async function openPresenceCall(
  redisUrl: string,
  project: string,
): Promise<(steps: readonly PresenceStep[]) => Promise<unknown>> {
  const target = parseRedisUrl(redisUrl);
  const [host] = target.hosts;
  const client = new Redis({ host: host?.host ?? '127.0.0.1', port: host?.port ?? 6_379, db: target.db });
  const keys = new PresenceKeys(target);
  const { source } = presenceScripts(target.db, 'PUBLISH').set;
  const sha = (await client.script('LOAD', source)) as string;
  return (steps) => {
    const names: string[] = [];
    const args: (string | number)[] = [];
    for (const { groupId, userId, region, location } of steps) {
      const now = Date.now();
      const deadline = now + DAY_MS;
      names.push(...keys.ofGroup({ project, groupId }));
      // The group's entry in the index of due groups is made up: nothing is to expire meanwhile.
      args.push(now, presenceName(userId, region), location, deadline, deadline, 'bare');
    }
    return client.evalsha(sha, names.length, ...names, ...args);
  };
}
