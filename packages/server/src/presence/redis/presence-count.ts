import type { PresenceCount } from '../presence-store.ts';
import { readEntry } from './due-groups.ts';
import type { PresenceEngine } from './presence-engine.ts';
import { DUE_BUCKETS } from './presence-keys.ts';

/** So many entries of each index are read. With more, what the others stand for is estimated from them. */
const COUNTED_PER_BUCKET = 16;

/**
 * How much presence there is: see the port. Costs two calls for each index of due groups, and two for each of at most
 * {@link COUNTED_PER_BUCKET} entries of it, all small.
 */
export async function countPresence(engine: PresenceEngine): Promise<PresenceCount> {
  const buckets = await Promise.all(
    Array.from({ length: DUE_BUCKETS }, (_, bucket) => countBucket(engine, engine.keys.due(bucket))),
  );
  return {
    presences: Math.round(buckets.reduce((sum, { presences }) => sum + presences, 0)),
    groups: Math.round(buckets.reduce((sum, { groups }) => sum + groups, 0)),
  };
}

async function countBucket(engine: PresenceEngine, key: string): Promise<PresenceCount> {
  const { connection } = engine;
  const [entries, read] = await Promise.all([
    connection.command<number>('zcard', key),
    connection.command<string[]>('zrandmember', key, COUNTED_PER_BUCKET),
  ]);
  if (read.length === 0) return { presences: 0, groups: 0 };
  const counts = await Promise.all(read.map((entry) => countGroup(engine, entry)));
  const share = Math.max(1, entries / read.length);
  return {
    presences: share * counts.reduce((total, count) => total + count, 0),
    groups: share * counts.filter((count) => count > 0).length,
  };
}

/**
 * The presences of the group of an entry. Each is in the index of its group, after a `u`: see lua/group.lua. A group can have several
 * entries for a while, and is counted for the one that it relies on.
 */
async function countGroup({ connection, keys }: PresenceEngine, entry: string): Promise<number> {
  const { scope, id } = readEntry(entry);
  const [, , index, meta] = keys.ofGroup(scope) as [string, string, string, string];
  const [reliedOn, presences] = await Promise.all([
    connection.command<string | null>('hget', meta, 'entry'),
    connection.command<number>('zlexcount', index, '[u', '(v'),
  ]);
  return reliedOn === id ? presences : 0;
}
