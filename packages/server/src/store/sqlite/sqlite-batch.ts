import type { Batch, ChangeCounts } from '@rollcall/protocol';
import { limits } from '@rollcall/protocol';
import { isRefused, readBatch, settleBatch } from '../batch-document.ts';
import { NO_EFFECTS } from '../outcomes.ts';
import type {
  BatchOutcome,
  BatchRequest,
  Departure,
  ProjectKey,
  UnknownReference,
  WriteStamp,
} from '../store.ts';
import { toStored } from '../stored-write.ts';
import type { GroupWrites } from './sqlite-groups.ts';
import type { MembershipWrites, UserCard } from './sqlite-members.ts';
import type { UserWrites } from './sqlite-users.ts';

/** The outcome of a batch, and whether its changes are to be kept: the caller rolls back otherwise. */
export interface BatchResult {
  readonly outcome: BatchOutcome;
  readonly keep: boolean;
}

/** Whose status went over. Who is named twice may go there and back: only the end against the beginning is an effect. */
class Turns {
  readonly deactivated = new Set<string>();
  readonly reactivated = new Set<string>();

  add(deactivated: readonly string[], reactivated: readonly string[]): void {
    for (const gone of deactivated) if (!this.reactivated.delete(gone)) this.deactivated.add(gone);
    for (const back of reactivated) if (!this.deactivated.delete(back)) this.reactivated.add(back);
  }
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

  apply(project: ProjectKey, request: BatchRequest, stamp: WriteStamp): BatchResult {
    const document = readBatch(request.body);
    if (isRefused(document)) return { outcome: document, keep: false };
    const batch = settleBatch(document, (id) => this.#groups.exists(project, id));
    if (isRefused(batch)) return { outcome: batch, keep: false };
    const outcome = this.#applyAll(project, batch, stamp);
    if (outcome.kind !== 'applied') return { outcome, keep: false };
    return request.dryRun
      ? { outcome: { ...outcome, effects: NO_EFFECTS }, keep: false }
      : { outcome, keep: true };
  }

  #applyAll(project: ProjectKey, batch: Batch, stamp: WriteStamp): BatchOutcome {
    const known = new Map<string, UserCard | null>();
    const users = this.#applyUsers(project, batch.users ?? [], stamp, known);
    const groups = this.#applyGroups(project, batch.groups ?? [], stamp, known);
    if (groups.count > 0) return { kind: 'unknownUsers', references: groups.references, count: groups.count };
    return {
      kind: 'applied',
      users: users.counts,
      groups: groups.counts,
      effects: {
        departures: groups.departures,
        deactivated: [...users.turns.deactivated],
        reactivated: [...users.turns.reactivated],
        deactivatedGroups: [...groups.turns.deactivated],
        reactivatedGroups: [...groups.turns.reactivated],
      },
    };
  }

  #applyUsers(
    project: ProjectKey,
    users: NonNullable<Batch['users']>,
    stamp: WriteStamp,
    known: Map<string, UserCard | null>,
  ) {
    const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
    const turns = new Turns();
    for (const { id, ...write } of users) {
      const applied = this.#users.apply(project, id, toStored(write), stamp);
      if (applied.card === undefined) throw new Error('a batch item has no precondition to fail');
      counts[applied.kind] += 1;
      known.set(id, applied.card);
      turns.add(applied.deactivated ?? [], applied.reactivated ?? []);
    }
    this.#users.countUsers(project, counts.created);
    return { counts, turns };
  }

  #applyGroups(
    project: ProjectKey,
    groups: NonNullable<Batch['groups']>,
    stamp: WriteStamp,
    known: Map<string, UserCard | null>,
  ) {
    const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
    const departures: Departure[] = [];
    const turns = new Turns();
    const references: UnknownReference[] = [];
    let count = 0;
    const userCards = this.#memberships.userCards(project, known);
    for (const [index, { id, ...write }] of groups.entries()) {
      const outcome = this.#groups.put(project, id, toStored(write), stamp, userCards);
      if (outcome.kind === 'unknownUsers') {
        count += 1;
        if (references.length < limits.PROBLEMS_NAMED) {
          references.push({ place: `groups[${index}].members`, users: outcome.users });
        }
        // All of it will be rolled back; until then the group is there, as later items of the list expect.
        const { members: _, ...rest } = write;
        this.#groups.put(project, id, toStored(rest), stamp);
      } else if (outcome.kind === 'exists' || outcome.kind === 'stale' || outcome.kind === 'nameRequired') {
        throw new Error(`a checked batch item ended as ${outcome.kind}`);
      } else {
        counts[outcome.kind] += 1;
        departures.push(...outcome.effects.departures);
        turns.add(outcome.effects.deactivatedGroups, outcome.effects.reactivatedGroups);
      }
    }
    return { counts, departures, turns, references, count };
  }
}
