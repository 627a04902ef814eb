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
    const outcome = new BatchRun(writes, project, context).apply(batch);
    if (outcome.kind !== 'applied') throw new RollBack(outcome);
    if (request.dryRun) throw new RollBack({ ...outcome, changes: [] });
    return outcome;
  },
});

/** One batch that is being applied. */
class BatchRun {
  readonly #writes: RosterWrites;
  readonly #project: ProjectKey;
  readonly #context: WriteContext;
  readonly #known = new Map<string, UserCard | null>();
  readonly #changes = new MergedChanges();
  readonly #unknown: UnknownReference[] = [];

  constructor(writes: RosterWrites, project: ProjectKey, context: WriteContext) {
    this.#writes = writes;
    this.#project = project;
    this.#context = context;
  }

  apply(batch: Batch): BatchOutcome {
    const users = this.#applyUsers(batch.users ?? []);
    const groups = this.#applyGroups(batch.groups ?? []);
    const { length: count } = this.#unknown;
    return count > 0
      ? { kind: 'unknownUsers', references: this.#unknown.slice(0, limits.PROBLEMS_NAMED), count }
      : { kind: 'applied', users, groups, changes: this.#changes.all() };
  }

  #applyUsers(users: NonNullable<Batch['users']>): ChangeCounts {
    const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
    for (const { id, ...write } of users) {
      const applied = this.#writes.users.apply(this.#project, id, toStored(write), this.#context);
      if (!('card' in applied)) throw new Error('a batch item has no precondition to fail');
      counts[applied.kind] += 1;
      this.#known.set(id, applied.card);
      this.#changes.add(applied.changes);
    }
    this.#writes.users.countUsers(this.#project, counts.created);
    return counts;
  }

  #applyGroups(groups: NonNullable<Batch['groups']>): ChangeCounts {
    const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
    const userCards = this.#writes.members.userCards(this.#project, this.#known);
    const put = (id: string, write: Parameters<GroupWrites['put']>[2]) =>
      this.#writes.groups.put(this.#project, id, write, this.#context, userCards);
    for (const [index, { id, ...write }] of groups.entries()) {
      const outcome = put(id, toStored(write));
      if (outcome.kind === 'unknownUsers') {
        this.#unknown.push({ path: `groups[${index}].members`, users: outcome.users });
        // All of it will be rolled back; until then the group is there, as later items of the list expect.
        const { members: _, ...rest } = write;
        put(id, toStored(rest));
      } else if (!('changes' in outcome)) {
        throw new Error(`a checked batch item ended as ${outcome.kind}`);
      } else {
        counts[outcome.kind] += 1;
        this.#changes.add(outcome.changes);
      }
    }
    return counts;
  }
}
