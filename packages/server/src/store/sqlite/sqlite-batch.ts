import type { Batch, ChangeCounts } from '@rollcall/protocol';
import { limits } from '@rollcall/protocol';
import { isRefused, readBatch, settleBatch } from '../batch-document.ts';
import type {
  BatchOutcome,
  BatchRequest,
  Departure,
  ProjectKey,
  UnknownReference,
  WriteContext,
} from '../store.ts';
import type { GroupWrites } from './sqlite-groups.ts';
import type { MembershipWrites } from './sqlite-members.ts';
import type { UserWrites } from './sqlite-users.ts';

/** The outcome of a batch, and whether its changes are to be kept: the caller rolls back otherwise. */
export interface BatchResult {
  readonly outcome: BatchOutcome;
  readonly keep: boolean;
}

/** Applies batches, on the writer's thread, within a savepoint that the caller releases or rolls back. */
export class BatchWrites {
  readonly #users: UserWrites;
  readonly #groups: GroupWrites;
  readonly #memberships: MembershipWrites;

  constructor(users: UserWrites, groups: GroupWrites, memberships: MembershipWrites) {
    this.#users = users;
    this.#groups = groups;
    this.#memberships = memberships;
  }

  apply(project: ProjectKey, request: BatchRequest, context: WriteContext): BatchResult {
    const document = readBatch(request.body);
    if (isRefused(document)) return { outcome: document, keep: false };
    const batch = settleBatch(document, (id) => this.#groups.exists(project, id));
    if (isRefused(batch)) return { outcome: batch, keep: false };
    const outcome = this.#applyAll(project, batch, context);
    return { outcome, keep: outcome.kind === 'applied' && !request.dryRun };
  }

  #applyAll(project: ProjectKey, batch: Batch, context: WriteContext): BatchOutcome {
    const known = new Map<string, number | null>();
    const users = this.#applyUsers(project, batch.users ?? [], context, known);
    const groups = this.#applyGroups(project, batch.groups ?? [], context, known);
    if (groups.count > 0) return { kind: 'unknownUsers', references: groups.references, count: groups.count };
    return {
      kind: 'applied',
      users: users.counts,
      groups: groups.counts,
      effects: {
        departures: groups.departures,
        deactivated: [...users.deactivated],
        reactivated: [...users.reactivated],
      },
    };
  }

  #applyUsers(
    project: ProjectKey,
    users: NonNullable<Batch['users']>,
    context: WriteContext,
    known: Map<string, number | null>,
  ) {
    const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
    const deactivated = new Set<string>();
    const reactivated = new Set<string>();
    for (const { id, ...write } of users) {
      const applied = this.#users.apply(project, id, write, context);
      if (applied.userNo === undefined) throw new Error('a batch item has no precondition to fail');
      counts[applied.kind] += 1;
      known.set(id, applied.userNo);
      // A user named twice may go there and back: only where they end up, against where they began, is an effect.
      for (const gone of applied.deactivated ?? []) if (!reactivated.delete(gone)) deactivated.add(gone);
      for (const back of applied.reactivated ?? []) if (!deactivated.delete(back)) reactivated.add(back);
    }
    this.#users.countUsers(project, counts.created);
    return { counts, deactivated, reactivated };
  }

  #applyGroups(
    project: ProjectKey,
    groups: NonNullable<Batch['groups']>,
    context: WriteContext,
    known: Map<string, number | null>,
  ) {
    const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
    const departures: Departure[] = [];
    const references: UnknownReference[] = [];
    let count = 0;
    const userNumbers = this.#memberships.userNumbers(project, known);
    for (const [index, { id, ...write }] of groups.entries()) {
      const outcome = this.#groups.put(project, id, write, context, userNumbers);
      if (outcome.kind === 'unknownUsers') {
        count += 1;
        if (references.length < limits.PROBLEMS_NAMED) {
          references.push({ place: `groups[${index}].members`, users: outcome.users });
        }
      } else if (outcome.kind === 'nameRequired') {
        // Its creation, earlier in the list, was refused for unknown users: the batch fails anyway.
        if (count === 0) throw new Error('a nameless group passed the check of names');
      } else if (outcome.kind === 'exists' || outcome.kind === 'stale') {
        throw new Error('a batch item has no precondition to fail');
      } else {
        counts[outcome.kind] += 1;
        departures.push(...outcome.effects.departures);
      }
    }
    return { counts, departures, references, count };
  }
}
