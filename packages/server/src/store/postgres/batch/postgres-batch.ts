import { type Batch, limits } from '@rollcall/protocol';
import { type BatchDocument, isRefused, readBatch, settleBatch } from '../../batch-document.ts';
import { NO_EFFECTS } from '../../outcomes.ts';
import type { BatchOutcome, BatchRequest, ProjectKey, UnknownReference, WriteStamp } from '../../store.ts';
import type { Attempt, PostgresDatabase, Size } from '../connections/postgres-database.ts';
import { assertAlive, sampleOf } from '../postgres-outcomes.ts';
import { textArray } from '../postgres-text.ts';
import { BatchChanges } from './postgres-batch-changes.ts';
import { BatchContents, type IdList } from './postgres-batch-contents.ts';
import { compareLists, look } from './postgres-batch-look.ts';
import { IS_ALIVE, WHICH_GROUPS_EXIST } from './postgres-batch-statements.ts';

/**
 * Applies a batch in three steps. The first takes all locks, makes what is new, and reads what the items are to be compared
 * with; the second compares lists of members with the members of groups that were there; the third writes what is to
 * change. Each is one round trip and a few statements; for every 20,000 members there is one statement more.
 * The body is read on this thread: some 0.1 ms for each KiB. `size` is that of the transaction.
 */
export async function applyBatch(
  database: PostgresDatabase,
  project: ProjectKey,
  { body, dryRun }: BatchRequest,
  stamp: WriteStamp,
  size: Size,
): Promise<BatchOutcome> {
  const document = readBatch(body);
  if (isRefused(document)) return document;
  if (!document.findings.clean)
    return database.operation((attempt) => misfit(attempt, project, document), { project });
  const batch = document.value as Batch;
  const contents = new BatchContents(batch);
  const apply = (attempt: Attempt) =>
    attempt.transaction(size, async (transaction) => {
      const seen = await look(transaction, project, contents, stamp);
      const groups = new Set([...seen.groups.keys()].map(({ id }) => id));
      const settled = settleBatch(document, (id) => groups.has(id));
      if (isRefused(settled)) return settled;
      if (seen.strangers.size > 0) return unknownUsers(batch, seen.strangers);
      const differences = await compareLists(transaction, project, contents, seen);
      const changes = new BatchChanges(contents, seen, differences);
      if (dryRun) return { ...changes.outcome(), effects: NO_EFFECTS };
      await transaction.commitEach(changes.writes(project, stamp));
      return changes.outcome();
    });
  return database.operation(apply, { project });
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

/** The items that name users who do not exist. */
function unknownUsers({ groups = [] }: Batch, strangers: IdList): BatchOutcome {
  const references: UnknownReference[] = [];
  for (const [index, { members = [] }] of groups.entries()) {
    const unknown = [...new Set(members)].filter((id) => strangers.has(id));
    if (unknown.length === 0) continue;
    const users = sampleOf(unknown.length, unknown.slice(0, limits.PROBLEMS_NAMED));
    references.push({ place: `groups[${index}].members`, users });
  }
  return {
    kind: 'unknownUsers',
    references: references.slice(0, limits.PROBLEMS_NAMED),
    count: references.length,
  };
}
