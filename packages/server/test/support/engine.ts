/**
 * Which engine the servers of the tests stand on: embedded, or with ROLLCALL_TEST_ENGINE=scale-out PostgreSQL and Redis,
 * where every data directory stands for a database and a key prefix of its own, which go with it.
 */
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { after } from 'node:test';
import type { Settings } from '../../src/config/settings.ts';

interface Place {
  readonly settings: Partial<Settings>;
  remove(): Promise<void>;
}

const onScaleOut = process.env.ROLLCALL_TEST_ENGINE === 'scale-out';
const places = new Map<string, Promise<Place>>();

// What stands for directories of the tests' own outlives their servers.
after(async () => {
  for (const dataDir of places.keys()) await releaseEngine(dataDir);
});

/** The settings of the engine that stands for a data directory: the same ones until it is released. */
export async function engineSettings(dataDir: string): Promise<Partial<Settings>> {
  if (!onScaleOut) return {};
  let place = places.get(dataDir);
  if (place === undefined) {
    place = makePlace();
    places.set(dataDir, place);
  }
  return (await place).settings;
}

/** Gives back what stands for a data directory that is removed. */
export async function releaseEngine(dataDir: string): Promise<void> {
  const place = places.get(dataDir);
  places.delete(dataDir);
  await (await place)?.remove();
}

async function makePlace(): Promise<Place> {
  const { ownDatabase } = await import('./postgres.ts');
  const { freshRedisUrl } = await import('./redis.ts');
  const database = await ownDatabase();
  return {
    settings: { databaseUrl: database.url, redisUrl: freshRedisUrl() },
    remove: () => database.remove(),
  };
}

/**
 * Renames what holds users, groups and memberships behind the server's back: what an unforeseen defect looks like from
 * outside.
 */
export async function damageStore(dataDir: string): Promise<void> {
  const place = await places.get(dataDir);
  if (place?.settings.databaseUrl == null) return damageEmbedded(dataDir);
  const { withClient } = await import('./postgres.ts');
  await withClient(place.settings.databaseUrl, (client) => client.query(renames(DAMAGED)));
}

const DAMAGED = ['users', 'groups', 'memberships'];

const renames = (tables: readonly string[]) =>
  tables.map((name) => `ALTER TABLE "${name}" RENAME TO "${name}_away"`).join(';');

function damageEmbedded(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, 'rollcall.db'));
  database.exec(`PRAGMA busy_timeout = 5000; ${renames(DAMAGED)}`);
  database.close();
}
