import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import { DURABLE_BOUNDS, type DurableBounds } from '../durable-bounds.ts';
import type { Store } from '../store.ts';
import { StoreTimings } from '../store-timings.ts';
import { StoreCondition } from './files/sqlite-condition.ts';
import { outdatedSchema } from './sqlite-inspection.ts';
import { sqlitePorts } from './sqlite-ports.ts';
import { SqliteReader } from './sqlite-reader.ts';
import { SnapshotPool } from './sqlite-snapshots.ts';
import { sqliteTransfer } from './transfer/sqlite-transfer.ts';
import { SqliteWriter } from './writer/sqlite-writer.ts';

/** The store's file within the data directory. */
export const STORE_FILE = 'rollcall.db';

interface SqliteStoreOptions {
  /** Where the store's files are; made when missing. */
  readonly dataDir: string;
  /** Size at which the write-ahead log is folded into the file, in bytes. */
  readonly checkpointBytes?: number;
  /** Default: those of the API. */
  readonly durableBounds?: DurableBounds;
  /** Whether the schema is created and brought up to date, which is the default, or must be there. */
  readonly migrates?: boolean;
  /** Called once, when nothing can be written any more until another start, with a line for the operator. */
  readonly onLost?: (reason: string) => void;
}

/**
 * While the copied pages are flushed, commits wait for the same disk: some 50 ms after 8 MiB of scattered writes, and 300 after
 * 64 MiB. A smaller log costs more writes, because a checkpoint copies each changed page once.
 */
const CHECKPOINT_BYTES = 8 * 1_024 ** 2;

/**
 * The embedded Store (see the port): SQLite in this process, in WAL mode and flushed at every commit. Reads run on the
 * calling thread, writes on one thread of their own.
 * @throws SchemaTooNewError when a newer version has written the store; SchemaTooOldError where it is not to be migrated and has
 * not this version's schema; StoreUnavailableError when it cannot be opened.
 */
export async function openSqliteStore({
  dataDir,
  checkpointBytes = CHECKPOINT_BYTES,
  durableBounds = DURABLE_BOUNDS,
  migrates = true,
  onLost = () => {},
}: SqliteStoreOptions): Promise<Store> {
  const file = join(dataDir, STORE_FILE);
  const outdated = migrates ? null : outdatedSchema(file);
  if (outdated !== null) throw outdated;
  mkdirSync(dataDir, { recursive: true });
  const condition = new StoreCondition(onLost);
  const timings = new StoreTimings('sqlite');
  let reader: SqliteReader | null = null;
  const snapshots = new SnapshotPool(file, condition);
  const writer = await SqliteWriter.start(
    { file, checkpointBytes, durableBounds },
    {
      onCommit: () => reader?.renew(),
      onRelease() {
        reader?.suspend();
        return snapshots.use.busy;
      },
      onResume: () => reader?.resume(),
    },
    condition,
    timings,
  );
  try {
    const opened = new SqliteReader(file, condition, timings.reads);
    reader = opened;
    const isAlive = opened.prepare('SELECT 1');
    let closing: Promise<void> | null = null;
    return {
      isInProcess: true,
      metrics: timings.metrics(
        () => writer.pending,
        () => ({ snapshots: snapshots.use }),
      ),
      ...sqlitePorts(opened, snapshots, writer.methods),
      transfer: sqliteTransfer(file, { snapshots, durableBounds, onChanged: () => opened.renew() }),

      async ping() {
        writer.check();
        if (isAlive.get() === undefined) throw new StoreUnavailableError('the store does not answer');
      },
      close() {
        // Readers release their snapshots first, so that the log can be folded into the file.
        condition.close();
        snapshots.close();
        opened.suspend();
        closing ??= writer.close().finally(() => opened.close());
        return closing;
      },
    };
  } catch (error) {
    condition.close();
    await writer.close();
    throw condition.readFailure(error);
  }
}
