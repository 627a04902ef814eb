import { serverClient } from './redis-clients.ts';
import { redisFailure } from './redis-failure.ts';
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
    await client.connect();
    const sentAt = Date.now();
    const [seconds = 0, microseconds = 0] = await client.time();
    const aheadMs = seconds * 1_000 + microseconds / 1_000 - (sentAt + Date.now()) / 2;
    const [server, memory] = await Promise.all([client.info('server'), client.info('memory')]);
    return {
      address: addressOf(target),
      version: versionOf(server),
      encrypted: target.tls !== undefined,
      aheadMs,
      concern: concernOf(memory),
    };
  } catch (error) {
    throw redisFailure(reason ?? error);
  } finally {
    client.disconnect();
  }
}

const addressOf = ({ hosts, db }: RedisTarget) =>
  `${hosts.map(({ host, port }) => `${host}:${port}`).join()}/${db}`;

const fieldOf = (info: string, name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];

/** Valkey reports the Redis version that it is compatible with, and its own. */
function versionOf(server: string): string {
  const valkey = fieldOf(server, 'valkey_version');
  return valkey === undefined ? `${fieldOf(server, 'redis_version')}` : `Valkey ${valkey}`;
}

/** The advice for a setting of the server that should change, or null. */
function concernOf(memory: string) {
  const policy = fieldOf(memory, 'maxmemory_policy');
  if (policy === undefined || policy === 'noeviction') return null;
  return {
    found: `maxmemory-policy ${policy}`,
    advice:
      'Set noeviction: with other policies, presence is evicted before its deadline when memory is short.',
  };
}
