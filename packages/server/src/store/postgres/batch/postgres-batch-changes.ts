import { compareCodePoints, type Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import { type Change, membershipChanges, resourceChanges } from '../../changes/changes.ts';
import type { BatchOutcome } from '../../ports/batches.ts';
import type { WriteContext } from '../../write-context.ts';
import type { Call } from '../connections/postgres-connection.ts';
import { recordCalls } from '../postgres-changes.ts';
import { plainArray } from '../postgres-text.ts';
import { additions, removals } from '../roster/postgres-member-lists.ts';
import { anyCountSlot, COUNT_USERS } from '../roster/postgres-user-counts.ts';
import { USER_FIELDS } from '../roster/postgres-users.ts';
import {
  type BatchContents,
  columnsOfItems,
  countKinds,
  type Found,
  type GroupItems,
  type IdList,
  type Kind,
  kindsOf,
  type UserItems,
} from './postgres-batch-items.ts';
import type { Differences, ListDifference, Seen } from './postgres-batch-read.ts';
import * as sql from './postgres-batch-statements.ts';

/** Users whose membership of a group begins or ends with the batch. Where a batch does both, the end is first. */
interface MembersOfGroup {
  readonly group: GroupItems;
  readonly joined: readonly string[];
  readonly left: readonly string[];
}

const NO_DIFFERENCE: ListDifference = { fresh: [], others: [] };

/** The result of a batch whose groups were all read: the outcome, and the rows to write. */
export class BatchChanges {
  readonly #contents: BatchContents;
  readonly #seen: Seen;
  readonly #differences: Differences;
  readonly #kinds = new Map<UserItems | GroupItems, readonly Kind[]>();
  readonly #changes: Change[] = [];
  readonly #members: MembersOfGroup[] = [];

  constructor(contents: BatchContents, seen: Seen, differences: Differences) {
    this.#contents = contents;
    this.#seen = seen;
    this.#differences = differences;
    for (const [user, found] of seen.users) this.#add('user', user, found);
    for (const [group, found] of seen.groups) {
      const first = this.#difference(group.firstList);
      const members = group.memberChanges(first.fresh.length + first.others.length > 0);
      this.#add('group', group, found, members);
      const { fresh, others } = this.#difference(group.lastList);
      const joined = new Set(fresh);
      const rejoined = group.interrupted.filter((id) => !joined.has(id));
      const left = rejoined.length === 0 ? others : [...others, ...rejoined].sort(compareCodePoints);
      this.#members.push({ group, joined: [...fresh, ...rejoined], left });
      this.#changes.push(...membershipChanges(group.id, fresh, others, rejoined));
    }
  }

  /** `members`: whether each item changes the members. */
  #add(
    resource: 'user' | 'group',
    items: UserItems | GroupItems,
    found: Found,
    members: readonly boolean[] = [],
  ): void {
    const fields: string[][] = items.changes(found);
    const changes = fields.map((each, index) => each.length > 0 || members[index] === true);
    this.#kinds.set(items, kindsOf(found, changes));
    this.#changes.push(...changesOf(resource, items, found, fields.flat()));
  }

  #difference(list: IdList | null): ListDifference {
    return (list === null ? undefined : this.#differences.get(list)) ?? NO_DIFFERENCE;
  }

  outcome(): Extract<BatchOutcome, { kind: 'applied' }> {
    const count = (all: readonly (UserItems | GroupItems)[]) =>
      countKinds(all.flatMap((items) => this.#kinds.get(items) ?? 'unchanged'));
    const { users, groups } = this.#contents;
    return { kind: 'applied', users: count(users), groups: count(groups), changes: this.#changes };
  }

  /** The statements that write what the items change, and record it. */
  *writes(project: ProjectKey, context: WriteContext): Generator<Call> {
    const { now, revision } = context;
    const users = [...this.#seen.users.keys()].filter((user) => this.#isUpdated(user));
    if (users.length > 0)
      yield [sql.UPDATE_USERS, project, ...columnsOfItems(users, USER_FIELDS, 'lastOf'), now, revision];
    const updated = this.#members.filter(({ group }) => this.#isUpdated(group));
    if (updated.length > 0) {
      const groups = updated.map(({ group }) => group);
      const growth = plainArray(updated.map(({ joined, left }) => joined.length - left.length));
      yield [
        sql.UPDATE_GROUPS,
        project,
        ...columnsOfItems(groups, sql.GROUP_FIELDS, 'lastOf'),
        growth,
        revision,
      ];
    }
    const removed = this.#members.map(({ group: { id }, left }) => ({ id, users: left }));
    yield* removals(
      project,
      removed.sort((one, other) => compareCodePoints(one.id, other.id)),
    );
    yield* additions(
      project,
      this.#members.map(({ group: { id }, joined }) => ({ id, users: joined })),
    );
    const made = [...this.#seen.users.values()].filter(({ isMade }) => isMade).length;
    if (made > 0) yield [COUNT_USERS, project, anyCountSlot(), made];
    yield* recordCalls(project, this.#changes, context);
  }

  /** Whether some item changes what was there. */
  #isUpdated(items: UserItems | GroupItems): boolean {
    const kinds = this.#kinds.get(items) ?? [];
    return kinds[0] !== 'created' && kinds.includes('updated');
  }
}

/** The difference that all items about a user or group make, but for its members. */
function changesOf(
  resource: 'user' | 'group',
  items: UserItems | GroupItems,
  found: Found,
  changed: readonly string[],
): Change[] {
  const after = (items.lastOf('status') ?? (found.isMade ? 'active' : found.status)) as Status;
  const fields = new Set(changed.filter((field) => field !== 'status'));
  return resourceChanges(resource, items.id, found.isMade ? null : (found.status as Status), after, [
    ...fields,
  ]);
}
