/** The only file that names drivers: from the settings to an engine. A driver is loaded when it is used. */
import { join } from 'node:path';
import type { Broker } from './broker/broker.ts';
import { type Settings, SettingsError } from './config/settings.ts';
import type { PresenceStore } from './presence/presence-store.ts';
import type { Store } from './store/store.ts';
import type { TransferRecord } from './store/transfer-records.ts';

/** The three ports of the service. */
export interface Engine {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly broker: Broker;
}

/** The inspection of a store by `rollcall doctor`. */
export interface StoreInspection {
  readonly schemaVersion: number;
  readonly latestSchemaVersion: number;
  /** The damaged parts; empty when the store is sound. */
  readonly damages: readonly string[];
}

/** The inspection of a server that several processes share, by `rollcall doctor`. */
export interface ServerInspection {
  /** The servers and the database of the URL, without user and password. */
  readonly address: string;
  readonly version: string;
  /** Whether our connection is. */
  readonly encrypted: boolean;
  /** How far the server's clock is ahead of this machine's, in milliseconds. */
  readonly aheadMs: number;
  /** The advice for a setting of the server that should change, or null. */
  readonly concern: { readonly found: string; readonly advice: string } | null;
}

interface DatabaseLocation {
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  /** Undefined: the one that is called like the user. */
  readonly database: string | undefined;
}

/** Which store: PostgreSQL at the URL, or with null the embedded one in the directory. */
export type StoreSettings = Pick<Settings, 'dataDir' | 'databaseUrl'>;

/**
 * Checks the URLs, whose syntax only their drivers know, and opens nothing.
 * @throws SettingsError that names the variable and what is wrong, without the URL: there may be a password in it
 */
export async function checkEngine({ databaseUrl, redisUrl }: Settings): Promise<void> {
  if (databaseUrl !== null) {
    const { parsePostgresUrl } = await import('./store/postgres/connections/postgres-url.ts');
    readUrl('ROLLCALL_DATABASE_URL', () => parsePostgresUrl(databaseUrl));
  }
  if (redisUrl !== null) {
    const { parseRedisUrl } = await import('./redis/redis-url.ts');
    readUrl('ROLLCALL_REDIS_URL', () => parseRedisUrl(redisUrl));
  }
}

/**
 * The servers and the database that a URL names. `source` is the variable or the option that has it.
 * @throws SettingsError that names the source and what is wrong, without the URL
 */
export async function databaseLocation(source: string, url: string): Promise<DatabaseLocation> {
  const { parsePostgresUrl } = await import('./store/postgres/connections/postgres-url.ts');
  return readUrl(source, () => parsePostgresUrl(url));
}

function readUrl<Result>(variable: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    const { message } = error as Error;
    throw new SettingsError(message.startsWith(variable) ? message : `${variable}: ${message}`, {
      cause: error,
    });
  }
}

const EMBEDDED_FILE = 'rollcall.db';

/** Whether there is a store already; opening an embedded one makes it. A database at a URL is there, or fails to open. */
export async function storeExists({ databaseUrl, dataDir }: StoreSettings): Promise<boolean> {
  if (databaseUrl !== null) return true;
  const { hasStoreFiles } = await import('./store/sqlite/files/sqlite-files.ts');
  return hasStoreFiles(join(dataDir, EMBEDDED_FILE));
}

/** Removes what a first start left that was killed. Only for the process that has locked the data directory. */
export async function removeUnfinishedStore(dataDir: string): Promise<void> {
  const { removeUnfinishedFiles } = await import('./store/sqlite/files/sqlite-files.ts');
  removeUnfinishedFiles(join(dataDir, EMBEDDED_FILE));
}

/** Whether opening an existing embedded store migrates it. Processes on PostgreSQL of other versions may run meanwhile. */
export async function needsMigration({ databaseUrl, dataDir }: StoreSettings): Promise<boolean> {
  if (databaseUrl !== null) return false;
  const { outdatedSchema } = await import('./store/sqlite/sqlite-inspection.ts');
  return outdatedSchema(join(dataDir, EMBEDDED_FILE)) !== null;
}

/** Inspects an existing store without changing it. @throws Error when it cannot be read */
export async function inspectStore({ databaseUrl, dataDir }: StoreSettings): Promise<StoreInspection> {
  if (databaseUrl !== null) {
    const { inspectPostgresStore } = await import('./store/postgres/postgres-inspection.ts');
    return inspectPostgresStore(databaseUrl);
  }
  const { inspectSqliteStore } = await import('./store/sqlite/sqlite-inspection.ts');
  return inspectSqliteStore(join(dataDir, EMBEDDED_FILE));
}

/** Inspects the server of a database. @throws Error when it does not answer */
export async function inspectDatabaseServer(url: string): Promise<ServerInspection> {
  const { inspectPostgresServer } = await import('./store/postgres/postgres-inspection.ts');
  return inspectPostgresServer(url);
}

/** Inspects the first Redis that the URL names. @throws Error when it does not answer */
export async function inspectRedisServer(url: string): Promise<ServerInspection> {
  const inspection = await import('./redis/redis-server-inspection.ts');
  return inspection.inspectRedisServer(url);
}

interface OpenOptions {
  /** Called once with a line for the operator, when a store can be written again only after another start. */
  readonly onLost?: (reason: string) => void;
  /** Default: the schema is created, or brought up to date. Otherwise it must be there. */
  readonly migrates?: boolean;
}

/**
 * Opens the store alone, for a command that needs no server.
 * @throws StoreUnavailableError, SchemaTooNewError; SchemaTooOldError where it is not to be migrated
 */
export async function openStore(
  { databaseUrl, dataDir }: StoreSettings,
  { onLost = () => {}, migrates = true }: OpenOptions = {},
): Promise<Store> {
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('./store/postgres/postgres-store.ts');
    return openPostgresStore({ url: databaseUrl, migrates });
  }
  const { openSqliteStore } = await import('./store/sqlite/sqlite-store.ts');
  return openSqliteStore({ dataDir, onLost, migrates });
}

/** Checks that an empty store of either engine could import the records. @throws TransferError; what the stream throws */
export async function checkImport(batches: AsyncIterable<readonly TransferRecord[]>): Promise<void> {
  const { checkImport: check } = await import('./store/sqlite/transfer/sqlite-transfer.ts');
  await check(batches);
}

/** Opens all three; when one fails, those before it are closed again. @throws StoreUnavailableError, SchemaTooNewError */
export async function openEngine(settings: Settings, onLost?: OpenOptions['onLost']): Promise<Engine> {
  await using opened = new AsyncDisposableStack();
  const close = (port: { close(): Promise<void> }) => port.close();
  const store = opened.adopt(await openStore(settings, { ...(onLost && { onLost }) }), close);
  const presence = opened.adopt(await openPresence(settings), close);
  const broker = opened.adopt(await openBroker(settings), close);
  opened.move();
  return { store, presence, broker };
}

async function openPresence({ redisUrl }: Settings): Promise<PresenceStore> {
  if (redisUrl === null) {
    const { createMemoryPresence } = await import('./presence/memory/memory-presence.ts');
    return createMemoryPresence();
  }
  const { openRedisPresence } = await import('./presence/redis/redis-presence.ts');
  return openRedisPresence({ url: redisUrl });
}

async function openBroker({ redisUrl }: Settings): Promise<Broker> {
  if (redisUrl === null) {
    const { createMemoryBroker } = await import('./broker/memory/memory-broker.ts');
    return createMemoryBroker();
  }
  const { openRedisBroker } = await import('./broker/redis/redis-broker.ts');
  return openRedisBroker({ url: redisUrl });
}

/** Ends the engine, the store last. */
export async function closeEngine(engine: Engine): Promise<void> {
  await engine.broker.close();
  await engine.presence.close();
  await engine.store.close();
}
