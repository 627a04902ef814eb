import type { Batch } from '@rollcall/protocol';
import { type BatchDocument, isRefused, readBatch, settleBatch } from '../batch-document.ts';
import { NO_EFFECTS } from '../outcomes.ts';
import type { BatchOutcome, BatchRequest, ProjectKey, WriteStamp } from '../store.ts';
import { IS_ALIVE, WHICH_GROUPS_EXIST } from './postgres-batch-statements.ts';
import { BatchWork } from './postgres-batch-work.ts';
import type { Attempt } from './postgres-database.ts';
import { assertAlive } from './postgres-outcomes.ts';
import { textArray } from './postgres-text.ts';

/**
 * Applies a batch in two round trips and a number of statements that does not grow with it. The first round trip takes
 * all locks, makes what is new, and reads what the items are to be compared with; the second writes what they change.
 */
export async function applyBatch(
  attempt: Attempt,
  project: ProjectKey,
  request: BatchRequest,
  stamp: WriteStamp,
): Promise<BatchOutcome> {
  const document = readBatch(request.body);
  if (isRefused(document)) return document;
  if (!document.findings.clean) return misfit(attempt, project, document);
  const batch = document.value as Batch;
  const work = new BatchWork(project, batch, stamp);
  return attempt.transaction('large', async (transaction) => {
    await work.look(transaction);
    const settled = settleBatch(document, (id) => work.hasGroup(id));
    if (isRefused(settled)) return settled;
    const unknown = work.unknownUsers();
    if (unknown !== null) return unknown;
    if (request.dryRun) return { ...work.outcome(), effects: NO_EFFECTS };
    await transaction.commit(...work.writes());
    return work.outcome();
  });
}

/** A batch that does not fit whatever the store holds; of the groups without a name those that are there are right. */
async function misfit(attempt: Attempt, project: ProjectKey, document: BatchDocument): Promise<BatchOutcome> {
  const ids = document.nameless.map(({ id }) => id).filter(isStorable);
  const [[alive], groups] = await Promise.all([
    attempt.run(IS_ALIVE, project),
    attempt.run(WHICH_GROUPS_EXIST, project, textArray(new Set(ids))),
  ]);
  assertAlive(alive?.[0]);
  const found = new Set(groups.map(([id]) => id));
  const settled = settleBatch(document, (id) => found.has(id));
  if (!isRefused(settled)) throw new Error('a batch with findings was taken for one that fits');
  return settled;
}

/** Whether the text can be the ID of anything: of a batch that does not fit, IDs may be any string. */
const isStorable = (id: string) => id.isWellFormed() && !id.includes('\0');
