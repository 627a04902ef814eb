import { type Batch, limits } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { type BatchDocument, completeBatch, isRejected, readBatch } from '../../batch-document.ts';
import { idSample } from '../../outcomes.ts';
import type { BatchOutcome, BatchStore, UnknownReference } from '../../ports/batches.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { Attempt, OnDatabase } from '../connections/postgres-database.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { assertAlive } from '../postgres-row-writes.ts';
import { textArray } from '../postgres-text.ts';
import { BatchChanges } from './postgres-batch-changes.ts';
import { BatchContents, type IdList } from './postgres-batch-items.ts';
import { compareLists, lockAndRead } from './postgres-batch-read.ts';
import { WHICH_GROUPS_EXIST } from './postgres-batch-statements.ts';

/**
 * A batch whose body is no larger is applied on this thread: reading it takes the event loop some 4 ms, which is less
 * than a thread costs, and it waits for no large ones.
 */
const SMALL_BATCH_BYTES = 32 * 1_024;

export function batchStore({ database, largeWrites }: PostgresEngine): BatchStore {
  return {
    apply: (project, batch, context) =>
      batch.body.length > SMALL_BATCH_BYTES
        ? largeWrites.apply('applyBatch', project, batch, context)
        : applyBatch(database, project, batch, context),
  };
}

/**
 * Applies a batch in three steps. The first takes all locks, makes what is new, and reads what the items are to be compared
 * with; the second compares lists of members with the members of groups that were there; the third writes what is to
 * change. Each is one round trip and a few statements; for every 20,000 members there is one statement more.
 * The body is read on this thread: some 0.1 ms for each KiB.
 */
export const applyBatch: OnDatabase<BatchStore['apply']> = async (database, project, request, context) => {
  const document = readBatch(request.body);
  if (isRejected(document)) return document;
  if (!document.errors.clean)
    return database.operation({ project }, (attempt) => checkInvalid(attempt, project, document));
  const batch = document.value as Batch;
  const contents = new BatchContents(batch);
  return database.transaction({ project }, async (transaction) => {
    const seen = await lockAndRead(transaction, project, contents, context);
    const groups = new Set([...seen.groups.keys()].map(({ id }) => id));
    const completed = completeBatch(document, (id) => groups.has(id));
    if (isRejected(completed)) return completed;
    if (seen.strangers.size > 0) return unknownUsers(batch, seen.strangers);
    const differences = await compareLists(transaction, project, contents, seen);
    const changes = new BatchChanges(contents, seen, differences);
    if (request.dryRun) return { ...changes.outcome(), changes: [] };
    await transaction.commit(changes.writes(project, context));
    return changes.outcome();
  });
};

/** A batch that does not fit whatever the store has; groups without a name are errors where the store has no such group. */
async function checkInvalid(
  attempt: Attempt,
  project: ProjectKey,
  document: BatchDocument,
): Promise<BatchOutcome> {
  const ids = document.nameless.map(({ id }) => id).filter(isStorable);
  const [[alive, groups]] = (await attempt.run(WHICH_GROUPS_EXIST, project, textArray(ids))) as [Row];
  assertAlive(alive);
  const found = new Set(groups as string[]);
  const completed = completeBatch(document, (id) => found.has(id));
  if (!isRejected(completed)) throw new Error('a batch with errors was taken for one that fits');
  return completed;
}

/** Whether the text can be the ID of anything: of a batch that does not fit, IDs may be any string. */
const isStorable = (id: string) => id.isWellFormed() && !id.includes('\0');

/** The items that name users who do not exist. */
function unknownUsers({ groups = [] }: Batch, strangers: IdList): BatchOutcome {
  const references: UnknownReference[] = [];
  for (const [index, { members = [] }] of groups.entries()) {
    const unknown = [...new Set(members)].filter((id) => strangers.has(id));
    if (unknown.length === 0) continue;
    references.push({ path: `groups[${index}].members`, users: idSample(unknown) });
  }
  return {
    kind: 'unknownUsers',
    references: references.slice(0, limits.PROBLEMS_NAMED),
    count: references.length,
  };
}
