/** A thread for large writes: reads, checks and applies one at a time, on connections of its own. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { DatabaseError } from 'pg';
import { StoreUnavailableError } from '../../store.ts';
import { toThreadFailure } from '../../thread-failure.ts';
import { applyBatch } from '../batch/postgres-batch.ts';
import { PostgresDatabase } from '../connections/postgres-database.ts';
import { parsePostgresUrl } from '../connections/postgres-url.ts';
import { changeGroupMembers, putGroup } from '../postgres-group-writes.ts';
import type {
  FromWriteThread,
  OutcomeOf,
  ToWriteThread,
  WriteTask,
  WriteThreadOptions,
} from './postgres-write-protocol.ts';

/** The least possible: one for the write, and one for reads, which is never opened. The liveness check has its own. */
const CONNECTIONS = 2;

function apply(database: PostgresDatabase, task: WriteTask): Promise<OutcomeOf<WriteTask>> {
  switch (task.type) {
    case 'applyBatch':
      return applyBatch(database, task.project, task.batch, task.stamp, 'large');
    case 'putGroup':
      return putGroup(database, task.project, task.id, task.write, task.context);
    case 'changeMembers':
      return changeGroupMembers(database, task.project, task.id, task.change, task.context);
  }
}

async function replyTo(database: PostgresDatabase, task: WriteTask): Promise<FromWriteThread> {
  try {
    return { type: 'done', outcome: await apply(database, task) };
  } catch (error) {
    return { type: 'failed', failure: toThreadFailure(error), isAway: isAway(error) };
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof StoreUnavailableError && !(error.cause instanceof DatabaseError);

function serve(port: MessagePort, { url }: WriteThreadOptions): void {
  const database = new PostgresDatabase({ ...parsePostgresUrl(url), poolSize: CONNECTIONS });
  port.on('message', async (message: ToWriteThread) => {
    if (message.type === 'apply') {
      port.postMessage(await replyTo(database, message.task));
    } else {
      await database.close();
      port.close();
    }
  });
}

if (parentPort === null) throw new Error('this module runs on a worker thread');
serve(parentPort, workerData as WriteThreadOptions);
