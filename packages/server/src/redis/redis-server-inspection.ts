import { closeClient, serverClient } from './redis-clients.ts';
import { redisFailure, withinTime } from './redis-failure.ts';
import { infoField, isClusterNode, isReadOnlyReplica } from './redis-info.ts';
import { parseRedisUrl, type RedisTarget } from './redis-url.ts';

/** Reads the state of the first server of a URL. @throws RedisUrlError, StoreUnavailableError */
export async function inspectRedisServer(url: string) {
  const target = parseRedisUrl(url);
  const client = serverClient(target);
  let reason: unknown;
  client.on('error', (error) => {
    reason = error;
  });
  try {
    // Sentinels that do not answer, or do not know the master, are tried again and again.
    await withinTime(client.connect(), target.connectTimeoutMs + target.timeoutMs);
    if (target.db !== 0) await client.select(target.db);
    const sentAt = Date.now();
    const [seconds = 0, microseconds = 0] = await client.time();
    const aheadMs = seconds * 1_000 + microseconds / 1_000 - (sentAt + Date.now()) / 2;
    const sections = ['server', 'memory', 'replication', 'cluster'].map((section) => client.info(section));
    const [server = '', memory = '', replication = '', cluster = ''] = await Promise.all(sections);
    // Of several hosts, a start passes over replicas.
    const isUsable = target.hosts.length > 1 || isClusterNode(cluster) || !isReadOnlyReplica(replication);
    return {
      address: addressOf(target),
      version: versionOf(server),
      encrypted: target.tls !== undefined,
      aheadMs,
      concern: isUsable ? concernOf(memory) : REPLICA,
    };
  } catch (error) {
    throw redisFailure(reason ?? error);
  } finally {
    closeClient(client);
  }
}

const addressOf = ({ hosts, db }: RedisTarget) =>
  `${hosts.map(({ host, port }) => `${host}:${port}`).join()}/${db}`;

/** Valkey reports the Redis version that it is compatible with, and its own. */
function versionOf(server: string): string {
  const valkey = infoField(server, 'valkey_version');
  return valkey === undefined ? `${infoField(server, 'redis_version')}` : `Valkey ${valkey}`;
}

const REPLICA = {
  found: 'a replica, which takes no writes',
  advice:
    'Name the master in ROLLCALL_REDIS_URL, or the sentinels that know it: a server does not start on a replica.',
};

/** The advice for a setting of the server that should change, or null. */
function concernOf(memory: string) {
  const policy = infoField(memory, 'maxmemory_policy');
  if (policy === undefined || policy === 'noeviction') return null;
  return {
    found: `maxmemory-policy ${policy}`,
    advice:
      'Set noeviction: with other policies, presence is evicted before its deadline when memory is short.',
  };
}
