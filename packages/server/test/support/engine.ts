/**
 * The engine of the servers in tests: embedded, or with ROLLCALL_TEST_ENGINE=scale-out PostgreSQL and Redis. There, each
 * data directory has its own database and key prefix, which are removed with it.
 */
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { after } from 'node:test';
import type { Settings } from '../../src/config/settings.ts';

interface Engine {
  readonly settings: Partial<Settings>;
  remove(): Promise<void>;
}

const onScaleOut = process.env.ROLLCALL_TEST_ENGINE === 'scale-out';
const engines = new Map<string, Promise<Engine>>();

// The engines of data directories that the tests themselves create outlive the servers.
after(async () => {
  for (const dataDir of engines.keys()) await releaseEngine(dataDir);
});

/** The engine settings of a data directory: the same ones until it is released. */
export async function engineSettings(dataDir: string): Promise<Partial<Settings>> {
  if (!onScaleOut) return {};
  let engine = engines.get(dataDir);
  if (engine === undefined) {
    engine = createEngine();
    engines.set(dataDir, engine);
  }
  return (await engine).settings;
}

/** Removes the engine of a data directory. */
export async function releaseEngine(dataDir: string): Promise<void> {
  const engine = engines.get(dataDir);
  engines.delete(dataDir);
  await (await engine)?.remove();
}

async function createEngine(): Promise<Engine> {
  const { ownDatabase } = await import('./postgres.ts');
  const { freshRedisUrl } = await import('./redis.ts');
  const database = await ownDatabase();
  return {
    settings: { databaseUrl: database.url, redisUrl: freshRedisUrl() },
    remove: () => database.remove(),
  };
}

/**
 * Renames the tables of users, groups and memberships under a running server, so that its statements fail as after an
 * unexpected defect.
 */
export async function damageStore(dataDir: string): Promise<void> {
  const engine = await engines.get(dataDir);
  if (engine?.settings.databaseUrl == null) return damageEmbedded(dataDir);
  const { withClient } = await import('./postgres.ts');
  await withClient(engine.settings.databaseUrl, (client) => client.query(renames(DAMAGED)));
}

const DAMAGED = ['users', 'groups', 'memberships'];

const renames = (tables: readonly string[]) =>
  tables.map((name) => `ALTER TABLE "${name}" RENAME TO "${name}_away"`).join(';');

function damageEmbedded(dataDir: string): void {
  const database = new DatabaseSync(join(dataDir, 'rollcall.db'));
  database.exec(`PRAGMA busy_timeout = 5000; ${renames(DAMAGED)}`);
  database.close();
}
