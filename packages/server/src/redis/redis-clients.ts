import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { StoreUnavailableError } from '../values/engine-errors.ts';
import type { ServerAddress } from '../values/server-address.ts';
import { withinTime } from './redis-failure.ts';
import type { RedisTarget } from './redis-url.ts';

const RETRY_MAX_MS = 500;
const retryDelay = (attempt: number) => Math.min(attempt * 50, RETRY_MAX_MS);

/**
 * Options of every connection: no command waits for a connection, no command is sent twice, and a connection on which the
 * server is silent for `timeoutMs` while commands are under way is closed, with all of them.
 */
function commonOptions(target: RedisTarget) {
  return {
    username: target.username,
    password: target.password,
    db: target.db,
    tls: target.tls,
    connectionName: 'rollcall',
    connectTimeout: target.connectTimeoutMs,
    socketTimeout: target.timeoutMs,
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // The master became a replica: connect again, perhaps to another server.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

/** A client of the target's first server or, where there are sentinels, of the master that they name. */
export function serverClient(target: RedisTarget): Redis {
  const options = { ...commonOptions(target), retryStrategy: retryDelay };
  if (target.sentinel === null) return new Redis({ ...options, ...target.hosts[0] });
  const client = new Redis({
    ...options,
    name: target.sentinel,
    sentinels: [...target.hosts],
    sentinelUsername: target.sentinelUsername,
    sentinelPassword: target.sentinelPassword,
    sentinelCommandTimeout: target.timeoutMs,
    sentinelRetryStrategy: retryDelay,
    sentinelTLS: target.tls,
    enableTLSForSentinelMode: target.tls !== undefined,
    failoverDetector: true,
  });
  // A failover during a request to a sentinel ends the client.
  client.on('end', () => setTimeout(() => reopen(client), RETRY_MAX_MS).unref());
  return client;
}

/** Clients that are not to connect again. */
const closed = new WeakSet<Redis | Cluster>();

function reopen(client: Redis): void {
  if (!closed.has(client)) client.connect().catch(() => {});
}

/** Ends a client of whatever kind; it does not connect again. */
export function closeClient(client: Redis | Cluster): void {
  closed.add(client);
  client.disconnect();
}

/** A client of a cluster node's channels. It ends with its connection. */
export function nodeClient(target: RedisTarget, host: ServerAddress): Redis {
  return new Redis({ ...commonOptions(target), ...host, retryStrategy: () => null });
}

/** A client of all nodes. It queues commands while it is not ready, so callers check that first. */
export function clusterClient(target: RedisTarget): Cluster {
  const { enableOfflineQueue, ...redisOptions } = commonOptions(target);
  return new Cluster([...target.hosts], {
    lazyConnect: true,
    // A node's connection is made when the first command for it comes.
    enableOfflineQueue: true,
    clusterRetryStrategy: retryDelay,
    // A command that may have been applied is not sent again.
    retryDelayOnFailover: 0,
    // While a slot moves, a group's keys may be on two nodes for a moment. With the redirections between the tries, a call
    // waits for half a second at most.
    retryDelayOnTryAgain: 50,
    slotsRefreshTimeout: target.timeoutMs,
    redisOptions,
  });
}

/** Connects a client, or closes it. @throws StoreUnavailableError */
export async function connected<Client extends Redis | Cluster>(
  client: Client,
  target: RedisTarget,
): Promise<Client> {
  let reason: unknown;
  // Later errors are reported by the calls that fail.
  client.on('error', (error) => {
    reason = error;
  });
  const failed = (what: string, cause: unknown) => {
    closeClient(client);
    return new StoreUnavailableError(what, { cause });
  };
  const hosts = namesOf(target);
  try {
    await withinTime(client.connect(), target.connectTimeoutMs + target.timeoutMs);
  } catch (error) {
    throw failed(`Redis does not answer at ${hosts}: ${reasonOf(reason ?? error)}`, error);
  }
  if (target.db === 0 || client instanceof Cluster) return client;
  try {
    // The client selects the database on each connection, and would go on in database 0 where it cannot.
    await client.select(target.db);
  } catch (error) {
    throw failed(`Redis at ${hosts} does not have the database ${target.db}: ${reasonOf(error)}`, error);
  }
  return client;
}

export const namesOf = ({ hosts }: RedisTarget): string =>
  hosts.map(({ host, port }) => `${host}:${port}`).join(', ');

/** When several addresses failed, the error has a code and no message. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message === '' ? String(code) : message;
}
