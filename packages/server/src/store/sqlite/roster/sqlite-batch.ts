import type { Batch, ChangeCounts } from '@rollcall/protocol';
import { limits } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { completeBatch, isRejected, readBatch } from '../../batch-document.ts';
import { MergedChanges } from '../../changes/merged-changes.ts';
import type { BatchOutcome, UnknownReference } from '../../ports/batches.ts';
import { toStored } from '../../stored-write.ts';
import type { WriteContext } from '../../write-context.ts';
import type { Writes } from '../sqlite-methods.ts';
import { RollBack } from '../sqlite-roll-back.ts';
import type { GroupWrites } from './sqlite-groups.ts';
import type { MembershipWrites, UserCard } from './sqlite-members.ts';
import type { UserWrites } from './sqlite-users.ts';

interface RosterWrites {
  readonly users: UserWrites;
  readonly groups: GroupWrites;
  readonly members: MembershipWrites;
}

/** Applies batches, on the writer's thread, within a savepoint of the caller's. */
export const batchWrites = (writes: RosterWrites): Writes<'batches'> => ({
  /** @throws RollBack with the outcome of a batch that is not applied */
  apply(project, request, context) {
    const document = readBatch(request.body);
    if (isRejected(document)) return document;
    const batch = completeBatch(document, (id) => writes.groups.exists(project, id));
    if (isRejected(batch)) return batch;
    const outcome = applyBatch(writes, project, batch, context);
    if (outcome.kind !== 'applied') throw new RollBack(outcome);
    if (request.dryRun) throw new RollBack({ ...outcome, changes: [] });
    return outcome;
  },
});

function applyBatch(
  { users, groups, members }: RosterWrites,
  project: ProjectKey,
  batch: Batch,
  context: WriteContext,
): BatchOutcome {
  const counts = { users: noChanges(), groups: noChanges() };
  const changes = new MergedChanges();
  const known = new Map<string, UserCard | null>();
  for (const { id, ...write } of batch.users ?? []) {
    const applied = users.apply(project, id, toStored(write), context);
    if (!('card' in applied)) throw new Error('a batch item has no precondition to fail');
    counts.users[applied.kind] += 1;
    known.set(id, applied.card);
    changes.add(applied.changes);
  }
  users.countUsers(project, counts.users.created);

  const userCards = members.userCards(project, known);
  const references: UnknownReference[] = [];
  for (const [index, { id, ...write }] of (batch.groups ?? []).entries()) {
    const outcome = groups.put(project, id, toStored(write), context, userCards);
    if (outcome.kind === 'unknownUsers') {
      references.push({ path: `groups[${index}].members`, users: outcome.users });
      // All of it will be rolled back; until then the group is there, as later items of the list expect.
      const { members: _, ...rest } = write;
      groups.put(project, id, toStored(rest), context, userCards);
    } else if (!('changes' in outcome)) {
      throw new Error(`a checked batch item ended as ${outcome.kind}`);
    } else {
      counts.groups[outcome.kind] += 1;
      changes.add(outcome.changes);
    }
  }
  const { length: count } = references;
  return count > 0
    ? { kind: 'unknownUsers', references: references.slice(0, limits.PROBLEMS_NAMED), count }
    : { kind: 'applied', ...counts, changes: changes.all() };
}

const noChanges = (): ChangeCounts => ({ created: 0, updated: 0, unchanged: 0 });
