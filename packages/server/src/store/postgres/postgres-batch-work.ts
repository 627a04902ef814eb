import { type Batch, limits } from '@rollcall/protocol';
import type { BatchOutcome, ProjectKey, UnknownReference, WriteStamp } from '../store.ts';
import {
  countKinds,
  type Found,
  type GroupItems,
  groupItems,
  type Items,
  type Kind,
  kindsOf,
  type UserItems,
  userItems,
} from './postgres-batch-items.ts';
import * as sql from './postgres-batch-statements.ts';
import type { Call, Row } from './postgres-connection.ts';
import type { Transaction } from './postgres-database.ts';
import { LostRaceError } from './postgres-errors.ts';
import { assertAlive, sampleOf } from './postgres-outcomes.ts';
import { plainArray, textArray } from './postgres-text.ts';
import { anyCountSlot, COUNT_USERS, USER_FIELDS } from './postgres-users.ts';

type IdList = ReadonlySet<string>;

/** A list of members that is compared with the members of its group: the first and the last that the batch gives it. */
interface ComparedList {
  readonly group: GroupItems;
  readonly users: IdList;
  /** How many on it are not members yet. */
  fresh: number;
  /** The members who are not on it. */
  readonly others: string[];
}

/** A checked batch on its way: what is looked at, what that comes to, and what is then written. */
export class BatchWork {
  readonly #project: ProjectKey;
  readonly #batch: Batch;
  readonly #stamp: WriteStamp;
  readonly #users: readonly UserItems[];
  readonly #groups: readonly GroupItems[];
  readonly #lists: readonly ComparedList[];
  readonly #listOfUsers: ReadonlyMap<IdList | null, ComparedList>;
  /** Users who are not here are there as the items say. */
  readonly #foundUsers = new Map<UserItems, Found>();
  readonly #foundGroups = new Map<GroupItems, Found>();
  readonly #groupIds = new Set<string>();
  #strangers: IdList = new Set();

  constructor(project: ProjectKey, batch: Batch, stamp: WriteStamp) {
    this.#project = project;
    this.#batch = batch;
    this.#stamp = stamp;
    this.#users = userItems(batch.users ?? []);
    this.#groups = groupItems(batch.groups ?? []);
    this.#lists = this.#groups.flatMap((group) =>
      [...new Set([group.firstList, group.lastList])]
        .filter((users) => users !== null)
        .map((users) => ({ group, users, fresh: 0, others: [] })),
    );
    this.#listOfUsers = new Map(this.#lists.map((list) => [list.users, list]));
  }

  /** Takes the locks, makes what is new and reads what there is. @throws ProjectGoneError */
  async look(transaction: Transaction): Promise<void> {
    const [, groups, , users, , strangers, fresh, others, alive] = (await transaction.run(
      ...this.#groupCalls(),
      ...this.#userCalls(),
      ...this.#memberCalls(),
      // Last, so that it held for all of them.
      this.#call(sql.IS_ALIVE),
    )) as [Row[], Row[], Row[], Row[], Row[], Row[], Row[], Row[], Row[]];
    assertAlive(alive[0]?.[0]);
    this.#noteGroups(groups);
    this.#noteUsers(users[0] as Row);
    this.#strangers = new Set(strangers.map(([id]) => id as string));
    for (const [list, count] of fresh) this.#list(list).fresh = count as number;
    for (const [list, id] of others) this.#list(list).others.push(id as string);
  }

  #call(statement: string, ...parameters: unknown[]): Call {
    return [statement, this.#project, ...parameters];
  }

  #groupCalls(): [Call, Call] {
    // One that has no name at first is not made: that it is not there is an error.
    const named = this.#groups.filter((group) => group.beginsWith('name'));
    const members = plainArray(named.map(({ lastList }) => lastList?.size ?? 0));
    const { revision } = this.#stamp;
    return [
      this.#call(sql.MAKE_GROUPS, ...lastColumns(named, sql.GROUP_COLUMNS), members, revision),
      this.#call(sql.LOCK_GROUPS, ...firstColumns(this.#groups, sql.GROUP_COLUMNS), revision),
    ];
  }

  #userCalls(): [Call, Call] {
    const repeated = plainArray(this.#users.map(({ isRepeated }) => isRepeated));
    const { now, revision } = this.#stamp;
    return [
      this.#call(sql.MAKE_USERS, ...lastColumns(this.#users, USER_FIELDS), now, revision),
      this.#call(sql.LOCK_USERS, ...firstColumns(this.#users, USER_FIELDS), repeated, revision),
    ];
  }

  #memberCalls(): [Call, Call, Call, Call] {
    const ofBatch = new Set(this.#users.map(({ id }) => id));
    const named = new Set<string>();
    for (const { lists } of this.#groups) {
      for (const id of lists.flatMap((list) => [...(list ?? [])])) if (!ofBatch.has(id)) named.add(id);
    }
    const others = textArray(named);
    const listed = listedColumns(this.#lists);
    const groups = textArray(this.#lists.map(({ group }) => group.id));
    return [
      this.#call(sql.HOLD_MEMBERS, others),
      this.#call(sql.STRANGERS, others),
      this.#call(sql.COUNT_FRESH, ...listed),
      this.#call(sql.OTHERS, ...listed, plainArray([...this.#lists.keys()]), groups),
    ];
  }

  #list(number: unknown): ComparedList {
    return this.#lists[number as number] as ComparedList;
  }

  #noteGroups(rows: readonly Row[]): void {
    for (const [place, isMade, status, differs] of rows) {
      const group = this.#groups[(place as number) - 1] as GroupItems;
      this.#groupIds.add(group.id);
      this.#foundGroups.set(group, toFound(isMade, status, differs));
    }
    const isLost = this.#groups.some((group) => group.beginsWith('name') && !this.#groupIds.has(group.id));
    if (isLost) throw new LostRaceError('a group was deleted before it was held');
  }

  #noteUsers([count, places, made, statuses, differ]: Row): void {
    if (count !== this.#users.length) throw new LostRaceError('a user was deleted before they were held');
    for (const [index, place] of ((places ?? []) as number[]).entries()) {
      const user = this.#users[place - 1] as UserItems;
      const [isMade, status, differs] = [made, statuses, differ].map((all) => (all as unknown[])[index]);
      this.#foundUsers.set(user, toFound(isMade, status, differs));
    }
  }

  /** Whether the group is there now. */
  hasGroup(id: string): boolean {
    return this.#groupIds.has(id);
  }

  /** The items that name users who do not exist, or null. */
  unknownUsers(): Extract<BatchOutcome, { kind: 'unknownUsers' }> | null {
    if (this.#strangers.size === 0) return null;
    const references: UnknownReference[] = [];
    for (const [index, { members = [] }] of (this.#batch.groups ?? []).entries()) {
      const strangers = [...new Set(members)].filter((id) => this.#strangers.has(id));
      if (strangers.length === 0) continue;
      const users = sampleOf(strangers.length, strangers.slice(0, limits.PROBLEMS_NAMED));
      references.push({ place: `groups[${index}].members`, users });
    }
    return {
      kind: 'unknownUsers',
      references: references.slice(0, limits.PROBLEMS_NAMED),
      count: references.length,
    };
  }

  outcome(): Extract<BatchOutcome, { kind: 'applied' }> {
    const users = turned(this.#foundUsers);
    const groups = turned(this.#foundGroups);
    return {
      kind: 'applied',
      users: countKinds(this.#users.flatMap((user) => this.#kindsOfUser(user))),
      groups: countKinds(this.#groups.flatMap((group) => this.#kindsOfGroup(group))),
      effects: {
        departures: this.#finalLists()
          .filter(({ others }) => others.length > 0)
          .map(({ group, others }) => ({ groupId: group.id, userIds: others })),
        deactivated: users.toDeleted,
        reactivated: users.toActive,
        deactivatedGroups: groups.toDeleted,
        reactivatedGroups: groups.toActive,
      },
    };
  }

  #kindsOfUser(user: UserItems): readonly Kind[] {
    const found = this.#foundUsers.get(user);
    return found === undefined ? UNCHANGED : kindsOf(found, user.changes(found));
  }

  #kindsOfGroup(group: GroupItems): readonly Kind[] {
    const found = this.#foundGroups.get(group) as Found;
    const first = this.#listOfUsers.get(group.firstList);
    const members = group.memberChanges(first !== undefined && first.fresh + first.others.length > 0);
    const fields = group.changes(found);
    const changes = fields.map((isChange, index) => isChange || members[index] === true);
    return kindsOf(found, changes);
  }

  /** The lists that are the members of their groups when all is done. */
  #finalLists(): ComparedList[] {
    return this.#groups
      .map(({ lastList }) => this.#listOfUsers.get(lastList))
      .filter((list) => list !== undefined);
  }

  /** What the items change: presence after memberships (see deleteGroup), the number of users last. */
  writes(): Call[] {
    const lists = this.#finalLists();
    const leaving = lists.flatMap(({ group, others }) => others.map((id) => [group.id, id] as const));
    const pairs = [textArray(leaving.map(([group]) => group)), textArray(leaving.map(([, id]) => id))];
    const [, ...coming] = listedColumns(lists.filter(({ fresh }) => fresh > 0));
    const made = [...this.#foundUsers.values()].filter(({ isMade }) => isMade).length;
    const calls = this.#updateCalls();
    if (leaving.length > 0) calls.push(...sql.REMOVALS.map((removal) => this.#call(removal, ...pairs)));
    if (lists.some(({ fresh }) => fresh > 0)) calls.push(this.#call(sql.ADD_MEMBERS, ...coming));
    if (made > 0) calls.push(this.#call(COUNT_USERS, anyCountSlot(), made));
    return calls;
  }

  #updateCalls(): Call[] {
    const { now, revision } = this.#stamp;
    const users = isUpdated(this.#foundUsers, (user) => this.#kindsOfUser(user));
    const groups = isUpdated(this.#foundGroups, (group) => this.#kindsOfGroup(group));
    const growth = groups.map(({ lastList }) => {
      const list = this.#listOfUsers.get(lastList);
      return list === undefined ? 0 : list.fresh - list.others.length;
    });
    const calls: Call[] = [];
    if (users.length > 0) {
      calls.push(this.#call(sql.UPDATE_USERS, ...lastColumns(users, USER_FIELDS), now, revision));
    }
    if (groups.length > 0) {
      const columns = lastColumns(groups, sql.GROUP_COLUMNS);
      calls.push(this.#call(sql.UPDATE_GROUPS, ...columns, plainArray(growth), revision));
    }
    return calls;
  }
}

const UNCHANGED: readonly Kind[] = ['unchanged'];

const toFound = (isMade: unknown, status: unknown, differs: unknown): Found =>
  isMade === true ? { isMade } : { isMade: false, status: status as string, differs: differs as number };

/** Those that were there and that some item changes. */
function isUpdated<Resource>(
  found: ReadonlyMap<Resource, Found>,
  kinds: (resource: Resource) => readonly Kind[],
): Resource[] {
  return [...found]
    .filter(([resource, { isMade }]) => !isMade && kinds(resource).includes('updated'))
    .map(([it]) => it);
}

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

/** IDs, and each field as it is first compared, in columns. */
function firstColumns<Field extends string>(
  all: readonly Items<Field>[],
  fields: readonly Field[],
): string[] {
  return [
    textArray(all.map(({ id }) => id)),
    ...fields.map((field) => textArray(all.map((items) => items.firstOf(field)))),
  ];
}

/** IDs, and each field as it will be, in columns. */
function lastColumns<Field extends string>(all: readonly Items<Field>[], fields: readonly Field[]): string[] {
  return [
    textArray(all.map(({ id }) => id)),
    ...fields.map((field) => textArray(all.map((items) => items.lastOf(field)))),
  ];
}

/** Lists of members as (the list's number, its group, the user) for each who is on one, in columns. */
function listedColumns(lists: readonly ComparedList[]): [string, string, string] {
  const numbers: number[] = [];
  const [groups, users]: [string[], string[]] = [[], []];
  for (const [number, { group, users: listed }] of lists.entries()) {
    for (const id of listed) {
      numbers.push(number);
      groups.push(group.id);
      users.push(id);
    }
  }
  return [plainArray(numbers), textArray(groups), textArray(users)];
}
