/** A Redis with a replica, and three sentinels that let the replica take over. */
import { OwnRedis } from './own-redis.ts';
import { until } from './waiting.ts';

const NAME = 'main';
const QUORUM = '2';
const SENTINELS = 3;
const DOWN_AFTER_MS = '500';
const FAILOVER_TIMEOUT_MS = '5000';

export interface SentinelPair {
  readonly master: OwnRedis;
  readonly replica: OwnRedis;
  readonly sentinels: readonly OwnRedis[];
  readonly url: string;
}

/** Starts them; they are removed after the tests of the file. Resolves when a failover is possible. */
export async function startSentinelPair(): Promise<SentinelPair> {
  const master = await OwnRedis.start('--repl-diskless-sync-delay', '0');
  const replica = await OwnRedis.start('--replicaof', '127.0.0.1', `${master.port}`);
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => OwnRedis.startSentinel()));
  for (const sentinel of sentinels) {
    await sentinel.command('SENTINEL', 'MONITOR', NAME, '127.0.0.1', `${master.port}`, QUORUM);
    await sentinel.command('SENTINEL', 'SET', NAME, 'down-after-milliseconds', DOWN_AFTER_MS);
    await sentinel.command('SENTINEL', 'SET', NAME, 'failover-timeout', FAILOVER_TIMEOUT_MS);
  }
  await until('the replica follows', async () =>
    /master_link_status:up/.test((await replica.command('INFO', 'replication')) as string),
  );
  for (const sentinel of sentinels) {
    const count = async (what: string) =>
      ((await sentinel.command('SENTINEL', what, NAME)) as unknown[]).length;
    await until(
      'the sentinels know each other and the replica',
      async () => (await count('SENTINELS')) === SENTINELS - 1 && (await count('REPLICAS')) === 1,
    );
  }
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return { master, replica, sentinels, url: `redis://${hosts}?sentinel=${NAME}` };
}

/** Resolves when the replica has all that its master has written. */
export function untilReplicated({
  master,
  replica,
}: Pick<SentinelPair, 'master' | 'replica'>): Promise<void> {
  const offsetOf = async (server: OwnRedis, field: string) =>
    new RegExp(`${field}:(\\d+)`).exec((await server.command('INFO', 'replication')) as string)?.[1];
  return until('the replica has everything', async () => {
    const written = await offsetOf(master, 'master_repl_offset');
    return Number(await offsetOf(replica, 'slave_repl_offset')) >= Number(written);
  });
}

/** Ends the replication, as when the network between both fails: what is written from then on is lost with the master. */
export async function disconnectReplica({ replica }: SentinelPair): Promise<void> {
  await replica.command('REPLICAOF', '127.0.0.1', '1');
}

/** Whether the sentinels have made the replica the master. */
export async function isReplicaPromoted({ replica }: SentinelPair): Promise<boolean> {
  return /^role:master/m.test((await replica.command('INFO', 'replication')) as string);
}
