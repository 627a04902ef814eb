import { DURABLE_BOUNDS, type DurableBounds } from '../durable-bounds.ts';
import type { Store } from '../store.ts';
import { StoreTimings } from '../store-timings.ts';
import { PostgresConnection } from './connections/postgres-connection.ts';
import { PostgresDatabase } from './connections/postgres-database.ts';
import { isWithoutRight, toStoreFailure } from './connections/postgres-errors.ts';
import { LongReads } from './connections/postgres-snapshots.ts';
import { type PostgresSettings, parsePostgresUrl } from './connections/postgres-url.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { LargeWrites } from './postgres-large-writes.ts';
import { migrate, requireMigrated } from './postgres-migrate.ts';
import * as ports from './postgres-ports.ts';
import { Purge } from './postgres-purge.ts';
import { postgresTransfer } from './transfer/postgres-transfer.ts';

interface PostgresStoreOptions {
  /** Which database, and how: see {@link parsePostgresUrl}. */
  readonly url: string;
  /** Default: those of the API. */
  readonly durableBounds?: DurableBounds;
  /** Whether the schema is created and brought up to date, which is the default, or must be there. */
  readonly migrates?: boolean;
}

/**
 * The Store (see the port) on PostgreSQL, for as many processes as there are. Brings the schema up to date first.
 * @throws SchemaTooNewError when a newer version has written the store; SchemaTooOldError where it is not to be migrated and has
 * not this version's schema; StoreUnavailableError when it cannot be reached.
 */
export async function openPostgresStore({
  url,
  durableBounds = DURABLE_BOUNDS,
  migrates = true,
}: PostgresStoreOptions): Promise<Store> {
  const settings = parsePostgresUrl(url);
  await prepare(settings, migrates ? migrate : requireMigrated);
  const timings = new StoreTimings('postgresql');
  const database = new PostgresDatabase(settings, undefined, timings);
  const longReads = new LongReads(settings);
  const largeWrites = new LargeWrites({ url }, timings);
  const purge = new Purge(database);
  const engine: PostgresEngine = { database, longReads, largeWrites, durableBounds, purge, timings };
  let closing: Promise<void> | null = null;

  const close = async () => {
    await Promise.all([purge.close(), longReads.close(), largeWrites.close()]);
    await database.close();
  };

  return {
    isInProcess: false,
    metrics: timings.metrics(
      () => database.pending + largeWrites.pending,
      () => ({ ...database.pools, snapshots: longReads.use }),
    ),
    ...portsOf(engine),
    transfer: postgresTransfer(settings, longReads),

    async ping() {
      await database.read('SELECT 1');
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

async function prepare(
  settings: PostgresSettings,
  makeReady: (connection: PostgresConnection) => Promise<void>,
): Promise<void> {
  await using connection = await PostgresConnection.open(settings);
  try {
    await makeReady(connection);
  } catch (error) {
    throw isWithoutRight(error) ? withoutRight(settings, error as Error) : toStoreFailure(error);
  }
}

const withoutRight = ({ name }: PostgresSettings, cause: Error) =>
  new Error(
    `${name} cannot be used: ${cause.message}. The role of the URL must own the database and the tables (ALTER DATABASE … OWNER TO …), and its search_path must name a schema`,
    { cause },
  );

type Ports = { readonly [Name in keyof typeof ports]: ReturnType<(typeof ports)[Name]> };

const portsOf = (engine: PostgresEngine) =>
  Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, port(engine)])) as Ports;
