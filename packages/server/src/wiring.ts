/** The one place that names drivers: from the settings to an engine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Broker } from './broker/broker.ts';
import { createMemoryBroker } from './broker/memory/memory-broker.ts';
import { type Settings, SettingsError } from './config/settings.ts';
import { createMemoryPresence } from './presence/memory/memory-presence.ts';
import type { PresenceStore } from './presence/presence-store.ts';
import { inspectSqliteStore } from './store/sqlite/sqlite-inspection.ts';
import { openSqliteStore, STORE_FILE } from './store/sqlite/sqlite-store.ts';
import type { Store } from './store/store.ts';

/** The three ports that the service stands on. */
export interface Engine {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly broker: Broker;
}

/** What `rollcall doctor` asks of a store. */
export interface StoreInspection {
  readonly schemaVersion: number;
  /** The newest version that this program knows. */
  readonly latestSchemaVersion: number;
  /** What is damaged; empty when nothing is. */
  readonly damages: readonly string[];
}

/** @throws SettingsError when the settings ask for an engine that this build does not have */
export function checkEngine(settings: Settings): void {
  const asked = [
    settings.databaseUrl === null ? null : 'ROLLCALL_DATABASE_URL',
    settings.redisUrl === null ? null : 'ROLLCALL_REDIS_URL',
  ].filter((name) => name !== null);
  if (asked.length === 0) return;
  throw new SettingsError(`${asked.join(' and ')}: this build has the embedded engine only; leave it unset`);
}

/** Whether there is a store already; opening one makes it. */
export const storeExists = (settings: Settings): boolean => existsSync(join(settings.dataDir, STORE_FILE));

/** Looks at an existing store without changing anything. @throws Error when it cannot be read */
export const inspectStore = (settings: Settings): StoreInspection =>
  inspectSqliteStore(join(settings.dataDir, STORE_FILE));

/** Opens the store alone, for a command that needs no server. */
export function openStore(settings: Settings): Promise<Store> {
  checkEngine(settings);
  return openSqliteStore({ dataDir: settings.dataDir });
}

export async function openEngine(settings: Settings): Promise<Engine> {
  const store = await openStore(settings);
  return { store, presence: createMemoryPresence(), broker: createMemoryBroker() };
}

/** Ends the engine, the store last. */
export async function closeEngine(engine: Engine): Promise<void> {
  await engine.broker.close();
  await engine.presence.close();
  await engine.store.close();
}
