/** The shared Redis of the tests. Each test has its own key prefix. */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { Redis } from 'ioredis';
import { isRequired } from './programs.ts';
import { redisUrl } from './servers.ts';
import { WAIT_MAX_MS } from './waiting.ts';

const ANSWER_MAX_MS = 10_000;
/** Parameters of a URL: calls may take long, as on a machine that is busy with other tests. */
export const PATIENTLY = `timeout_ms=${WAIT_MAX_MS}&connect_timeout_ms=${WAIT_MAX_MS}`;

/** Why tests of Redis are skipped here, or false when they are not: where Redis is required, its absence fails them. */
export async function skipsRedis(): Promise<string | false> {
  if (isRequired('redis')) return false;
  const client = plainClient(redisUrl());
  try {
    await client.connect();
    return false;
  } catch {
    return 'no Redis answers at ROLLCALL_TEST_REDIS_URL or redis://127.0.0.1:6379';
  } finally {
    client.disconnect();
  }
}

const prefixes = new Set<string>();

/** A URL of the shared Redis with an unused prefix; its keys are removed when this process ends. Calls may take long. */
export function freshRedisUrl(): string {
  const url = redisUrl();
  const prefix = `rollcall-test-${randomBytes(6).toString('hex')}`;
  prefixes.add(prefix);
  return `${url}${url.includes('?') ? '&' : '?'}prefix=${prefix}&${PATIENTLY}`;
}

// This is no hook of the test runner, because a file can import this module within a test, and its servers outlive the test.
process.once('beforeExit', () => {
  if (prefixes.size > 0) void removeKeysOf((prefix) => prefixes.has(prefix));
});

/** Removes all keys with the prefix. */
export async function removeKeys(prefix: string): Promise<void> {
  await removeKeysOf((other) => other === prefix);
}

/** The names of the keys with the prefix that match the rest. */
export function keysOf(prefix: string, rest = '*'): Promise<string[]> {
  return withClient((client) => client.keys(`${prefix}:${rest}`));
}

/** Stores the keys with the prefix as they are now. Resolves to what brings them back, as a restart from an older snapshot does. */
export async function snapshotOf(prefix: string): Promise<() => Promise<void>> {
  const stored = await withClient(async (client) =>
    Promise.all(
      (await client.keys(`${prefix}:*`)).map(
        async (key) => [key, await client.pexpiretime(key), await client.dumpBuffer(key)] as const,
      ),
    ),
  );
  return async () => {
    await removeKeys(prefix);
    await withClient(async (client) => {
      for (const [key, endsAt, value] of stored) {
        await client.restore(key, Math.max(endsAt, 0), value, 'REPLACE', 'ABSTTL');
      }
    });
  };
}

async function withClient<Result>(use: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = plainClient(redisUrl());
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}

function removeKeysOf(isOwn: (prefix: string) => boolean): Promise<void> {
  return withClient(async (client) => {
    for await (const keys of client.scanStream({ match: 'rollcall?test*', count: 1_000 })) {
      const own = (keys as string[]).filter((key) => isOwn(key.slice(0, key.indexOf(':'))));
      if (own.length > 0) await client.unlink(...own);
    }
  });
}

function plainClient(url: string): Redis {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: ANSWER_MAX_MS,
  });
  // Failed calls report the error.
  client.on('error', () => {});
  return client;
}
