/** A thread for large writes: reads, checks and applies one at a time, on connections of its own. */
import { workerData } from 'node:worker_threads';
import { DatabaseError } from 'pg';
import { serveTasks } from '../../concurrency/serve-tasks.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import { toThreadFailure } from '../worker-threads/thread-failure.ts';
import { applyBatch } from './batch/postgres-batch.ts';
import { PostgresDatabase } from './connections/postgres-database.ts';
import { parsePostgresUrl } from './connections/postgres-url.ts';
import type {
  FromWriteThread,
  LargeWrite,
  LargeWriteMethods,
  WriteThreadOptions,
} from './postgres-write-protocol.ts';
import { deleteGroup, deleteUser } from './roster/postgres-deletions.ts';
import { changeMembers, putGroup } from './roster/postgres-group-writes.ts';

/** The least possible: one for the write, and one for reads, which is never opened. */
const CONNECTIONS = 2;
/** How long a write waits for locks here, in milliseconds: its caller has waited for the thread to start already. */
const LOCK_WAIT_MS = 2_000;
/** A thread of a busy machine may take ten seconds to work out what a batch of millions of members is to write. */
const IDLE_IN_TRANSACTION_MS = 60_000;

const { url } = workerData as WriteThreadOptions;
const own = { poolSize: CONNECTIONS, idleInTransactionMs: IDLE_IN_TRANSACTION_MS };
const database = new PostgresDatabase({ ...parsePostgresUrl(url), ...own }, LOCK_WAIT_MS);
const methods: LargeWriteMethods = {
  applyBatch: (...parameters) => applyBatch(database, ...parameters),
  putGroup: (...parameters) => putGroup(database, ...parameters),
  deleteGroup: (...deletion) => deleteGroup(database, deletion),
  changeMembers: (...parameters) => changeMembers(database, ...parameters),
  deleteUser: (...deletion) => deleteUser(database, deletion),
};

async function apply(write: LargeWrite): Promise<FromWriteThread> {
  const method = methods[write.name] as (...parameters: readonly unknown[]) => Promise<unknown>;
  try {
    return { outcome: await method(...write.parameters) };
  } catch (error) {
    const isAway = error instanceof StoreUnavailableError && !(error.cause instanceof DatabaseError);
    return { failure: toThreadFailure(error), isAway };
  }
}

serveTasks(apply, { close: () => database.close() });
