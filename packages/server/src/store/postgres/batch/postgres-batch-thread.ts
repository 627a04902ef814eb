/** A batch's thread: reads, checks and applies one batch at a time, on connections of its own. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { DatabaseError } from 'pg';
import { StoreUnavailableError } from '../../store.ts';
import { toThreadFailure } from '../../thread-failure.ts';
import { PostgresDatabase } from '../connections/postgres-database.ts';
import { parsePostgresUrl } from '../connections/postgres-url.ts';
import { applyBatch } from './postgres-batch.ts';
import type {
  BatchTask,
  BatchThreadOptions,
  FromBatchThread,
  ToBatchThread,
} from './postgres-batch-protocol.ts';

/** The least that there can be: one for the batch, and one for reads, which is never made. The sign of life has its own. */
const CONNECTIONS = 2;

async function replyTo(
  database: PostgresDatabase,
  { project, batch, stamp }: BatchTask,
): Promise<FromBatchThread> {
  try {
    return { type: 'done', outcome: await applyBatch(database, project, batch, stamp, 'large') };
  } catch (error) {
    return { type: 'failed', failure: toThreadFailure(error), isAway: isAway(error) };
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && !(error.cause instanceof DatabaseError);

function serve(port: MessagePort, { url }: BatchThreadOptions): void {
  const database = new PostgresDatabase({ ...parsePostgresUrl(url), poolSize: CONNECTIONS });
  port.on('message', async (message: ToBatchThread) => {
    if (message.type === 'apply') {
      port.postMessage(await replyTo(database, message.task));
    } else {
      await database.close();
      port.close();
    }
  });
}

if (parentPort === null) throw new Error('this module runs on a worker thread');
serve(parentPort, workerData as BatchThreadOptions);
