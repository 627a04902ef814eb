/** The Redis that tests share, each test with a prefix of its own. */
import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { Redis } from 'ioredis';
import { redisUrl } from './servers.ts';

const ANSWER_MAX_MS = 2_000;

const isRequired = (process.env.ROLLCALL_TEST_REQUIRE ?? '').includes('redis');

/** Why tests of Redis are skipped here, or false when they are not: where Redis is required, its absence fails them. */
export async function skipsRedis(): Promise<string | false> {
  if (isRequired) return false;
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

/** A URL of the shared Redis under which nothing is yet; what comes to be there goes with this process. */
export function freshRedisUrl(): string {
  const url = redisUrl();
  const prefix = `rollcall-test-${randomBytes(6).toString('hex')}`;
  prefixes.add(prefix);
  return `${url}${url.includes('?') ? '&' : '?'}prefix=${prefix}`;
}

// Not a hook of the tests: a file may come to this module in the middle of one, and its servers outlive that.
process.once('beforeExit', () => {
  if (prefixes.size > 0) void removeKeysOf((prefix) => prefixes.has(prefix));
});

/** Removes what a test made under its prefix. */
export async function removeKeys(prefix: string): Promise<void> {
  await removeKeysOf((other) => other === prefix);
}

async function removeKeysOf(isOurs: (prefix: string) => boolean): Promise<void> {
  const client = plainClient(redisUrl());
  try {
    await client.connect();
    for await (const keys of client.scanStream({ match: 'rollcall?test*', count: 1_000 })) {
      const ours = (keys as string[]).filter((key) => isOurs(key.slice(0, key.indexOf(':'))));
      if (ours.length > 0) await client.unlink(...ours);
    }
  } finally {
    client.disconnect();
  }
}

function plainClient(url: string): Redis {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: ANSWER_MAX_MS,
  });
  // What is wrong is told by the calls that fail.
  client.on('error', () => {});
  return client;
}
