import type { BatchOutcome, Effects, ProjectKey, WriteStamp } from '../../store.ts';
import type { Call } from '../connections/postgres-connection.ts';
import { pairColumns, removals } from '../postgres-removals.ts';
import { plainArray } from '../postgres-text.ts';
import { anyCountSlot, COUNT_USERS, USER_FIELDS } from '../postgres-users.ts';
import { lastColumns } from './postgres-batch-columns.ts';
import type { BatchContents, ComparedList } from './postgres-batch-contents.ts';
import {
  countKinds,
  type Found,
  type GroupItems,
  type Kind,
  kindsOf,
  type UserItems,
} from './postgres-batch-items.ts';
import type { Differences, ListDifference, Seen } from './postgres-batch-look.ts';
import * as sql from './postgres-batch-statements.ts';

/** What a batch comes to, every group of which was seen: the outcome, and what is to be written. */
export class BatchChanges {
  readonly #contents: BatchContents;
  readonly #seen: Seen;
  readonly #differences: Differences;
  readonly #usersKinds: ReadonlyMap<UserItems, readonly Kind[]>;
  readonly #groupsKinds: ReadonlyMap<GroupItems, readonly Kind[]>;
  /** The lists that are the members of their groups when all is done. */
  readonly #finalLists: readonly (ComparedList & ListDifference)[];

  constructor(contents: BatchContents, seen: Seen, differences: Differences) {
    this.#contents = contents;
    this.#seen = seen;
    this.#differences = differences;
    this.#usersKinds = new Map(
      [...seen.users].map(([user, found]) => [user, kindsOf(found, user.changes(found))]),
    );
    this.#groupsKinds = new Map(
      [...seen.groups].map(([group, found]) => [group, this.#kindsOfGroup(group, found)]),
    );
    this.#finalLists = contents.lists
      .filter(({ group, users }) => users === group.lastList)
      .map((list) => ({ ...list, ...(differences.get(list.users) as ListDifference) }));
  }

  #kindsOfGroup(group: GroupItems, found: Found): Kind[] {
    const first = group.firstList === null ? undefined : this.#differences.get(group.firstList);
    const members = group.memberChanges(first !== undefined && first.fresh.length + first.others.length > 0);
    const fields = group.changes(found);
    return kindsOf(
      found,
      fields.map((isChange, index) => isChange || members[index] === true),
    );
  }

  outcome(): Extract<BatchOutcome, { kind: 'applied' }> {
    const { users, groups } = this.#contents;
    return {
      kind: 'applied',
      users: countKinds(users.flatMap((user) => this.#usersKinds.get(user) ?? UNCHANGED)),
      groups: countKinds(groups.flatMap((group) => this.#groupsKinds.get(group) as readonly Kind[])),
      effects: this.#effects(),
    };
  }

  #effects(): Effects {
    const users = turned(this.#seen.users);
    const groups = turned(this.#seen.groups);
    return {
      departures: this.#finalLists
        .filter(({ others }) => others.length > 0)
        .map(({ group, others }) => ({ groupId: group.id, userIds: others })),
      deactivated: users.toDeleted,
      reactivated: users.toActive,
      deactivatedGroups: groups.toDeleted,
      reactivatedGroups: groups.toActive,
    };
  }

  /** The statements that write what the items change; the number of users last. */
  *writes(project: ProjectKey, { now, revision }: WriteStamp): Generator<Call> {
    const write = (statement: string, ...parameters: unknown[]): Call => [statement, project, ...parameters];
    const users = updated(this.#usersKinds);
    if (users.length > 0) yield write(sql.UPDATE_USERS, ...lastColumns(users, USER_FIELDS), now, revision);
    const groups = updated(this.#groupsKinds);
    if (groups.length > 0) {
      yield write(
        sql.UPDATE_GROUPS,
        ...lastColumns(groups, sql.GROUP_COLUMNS),
        this.#growth(groups),
        revision,
      );
    }
    const leaving = this.#finalLists.map(({ group, others }) => ({ id: group.id, users: others }));
    yield* removals(project, leaving);
    const coming = this.#finalLists.map(({ group, fresh }) => ({ id: group.id, users: fresh }));
    for (const pairs of pairColumns(coming)) yield write(sql.ADD_MEMBERS, ...pairs);
    const made = [...this.#seen.users.values()].filter(({ isMade }) => isMade).length;
    if (made > 0) yield write(COUNT_USERS, anyCountSlot(), made);
  }

  /** By how much the members of each group grow. */
  #growth(groups: readonly GroupItems[]): string {
    const growth = new Map(
      this.#finalLists.map(({ group, fresh, others }) => [group, fresh.length - others.length]),
    );
    return plainArray(groups.map((group) => growth.get(group) ?? 0));
  }
}

const UNCHANGED: readonly Kind[] = ['unchanged'];

/** Those that were there and that some item changes. */
const updated = <Resource>(kinds: ReadonlyMap<Resource, readonly Kind[]>): Resource[] =>
  [...kinds].filter(([, each]) => each[0] !== 'created' && each.includes('updated')).map(([it]) => it);

/** Whose status is another after the whole batch than it was. */
function turned(found: ReadonlyMap<UserItems | GroupItems, Found>) {
  const turnedTo = (status: string) =>
    [...found]
      .filter(
        ([items, before]) => !before.isMade && before.status !== status && items.lastOf('status') === status,
      )
      .map(([{ id }]) => id);
  return { toDeleted: turnedTo('deleted'), toActive: turnedTo('active') };
}
