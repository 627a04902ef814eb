/**
 * Which engine the servers of the tests stand on: embedded, or with ROLLCALL_TEST_ENGINE=scale-out PostgreSQL and Redis,
 * where every data directory stands for a database and a key prefix of its own. They go when the test file ends.
 */
import { createHash } from 'node:crypto';
import process from 'node:process';
import { after } from 'node:test';
import type { Settings } from '../../src/config/settings.ts';
import { redisUrl } from './servers.ts';

export const onScaleOut = process.env.ROLLCALL_TEST_ENGINE === 'scale-out';

const places = new Map<string, Promise<Partial<Settings>>>();

// Directories of the tests' own outlive their servers.
after(async () => {
  for (const name of places.keys()) await remove(name);
});

/** The settings of the engine that stands for a data directory: the same ones until it is released. */
export function engineSettings(dataDir: string): Promise<Partial<Settings>> {
  if (!onScaleOut) return Promise.resolve({});
  const name = nameOf(dataDir);
  let settings = places.get(name);
  if (settings === undefined) {
    settings = makePlace(name);
    places.set(name, settings);
  }
  return settings;
}

/** Gives back what stands for a data directory that is removed. */
export async function releaseEngine(dataDir: string): Promise<void> {
  const name = nameOf(dataDir);
  if (places.has(name)) await remove(name);
}

const nameOf = (dataDir: string) =>
  `rollcall_test_${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;

async function remove(name: string): Promise<void> {
  places.delete(name);
  const { dropDatabase } = await import('./postgres.ts');
  const { removeKeys } = await import('./redis.ts');
  await dropDatabase(name);
  await removeKeys(name);
}

async function makePlace(name: string): Promise<Partial<Settings>> {
  const { createDatabase } = await import('./postgres.ts');
  const databaseUrl = await createDatabase(name);
  const url = new URL(redisUrl());
  url.searchParams.set('prefix', name);
  return { databaseUrl, redisUrl: url.href };
}
