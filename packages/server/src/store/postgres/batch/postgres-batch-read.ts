import type { ProjectKey } from '../../../values/project-key.ts';
import type { WriteContext } from '../../write-context.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { assertAlive, IS_ALIVE, idsOf } from '../postgres-row-writes.ts';
import { plainArray, textArray } from '../postgres-text.ts';
import { USER_FIELDS } from '../roster/postgres-users.ts';
import {
  type BatchContents,
  type ComparedList,
  columnsOfItems,
  type Found,
  type GroupItems,
  type IdList,
  type UserItems,
} from './postgres-batch-items.ts';
import * as sql from './postgres-batch-statements.ts';

/** How the store was when the batch had locked what it names. */
export interface Seen {
  /** Users who are not here are in the store, and equal to their items. */
  readonly users: ReadonlyMap<UserItems, Found>;
  /** Without those that are not there and have no name to be made with. */
  readonly groups: ReadonlyMap<GroupItems, Found>;
  /** Users who are named as members and do not exist. */
  readonly strangers: IdList;
}

/** How a list differs from the members of its group. */
export interface ListDifference {
  /** Those on it who are not members yet. */
  readonly fresh: readonly string[];
  /** The members who are not on it. */
  readonly others: readonly string[];
}

export type Differences = ReadonlyMap<IdList, ListDifference>;

/** Takes the locks, makes what is new and reads what there is, in one round trip. @throws ProjectGoneError */
export async function lockAndRead(
  transaction: Transaction,
  project: ProjectKey,
  { users, groups, mereMembers }: BatchContents,
  { now, revision }: WriteContext,
): Promise<Seen> {
  const groupColumns = (value: 'firstOf' | 'lastOf') => columnsOfItems(groups, sql.GROUP_FIELDS, value);
  const userColumns = (value: 'firstOf' | 'lastOf') => columnsOfItems(users, USER_FIELDS, value);
  const sizes = plainArray(groups.map(({ lastList }) => lastList?.size ?? 0));
  const repeated = plainArray(users.map(({ isRepeated }) => isRepeated));
  const userIds = textArray(users.map(({ id }) => id));
  const [, foundGroups, strangers, , [foundUsers], [alive]] = await transaction.run(
    [sql.LOCK_GROUPS, project, ...groupColumns('lastOf'), sizes, revision],
    [sql.READ_GROUPS, project, ...groupColumns('firstOf'), revision],
    [sql.LOCK_USERS, project, textArray(mereMembers), userIds],
    [sql.MAKE_USERS, project, ...userColumns('lastOf'), now, revision],
    [sql.READ_USERS, project, ...userColumns('firstOf'), repeated, revision],
    // Last, so that the project was there for all of them.
    [IS_ALIVE, project],
  );
  assertAlive(alive?.[0]);
  return {
    users: seenOf(users, (foundUsers?.[0] ?? []) as Row[]),
    // Every group is made where it is not there; that one without a name was made is an error, and is rolled back.
    groups: seenOf(groups, foundGroups, (group, { isMade }) => !isMade || group.beginsWith('name')),
    strangers: new Set(idsOf(strangers)),
  };
}

/** Those of `all` that rows of (position, whether this batch made it, status, differing fields) are about. */
function seenOf<Resource>(
  all: readonly Resource[],
  rows: readonly Row[],
  isValid: (resource: Resource, found: Found) => boolean = () => true,
): Map<Resource, Found> {
  const seen = new Map<Resource, Found>();
  for (const [position, isMade, status, differs] of rows as [number, boolean, string, number][]) {
    const resource = all[position - 1] as Resource;
    const found: Found = isMade ? { isMade } : { isMade, status, differs };
    if (isValid(resource, found)) seen.set(resource, found);
  }
  return seen;
}

/**
 * Compares the lists of members with the members of their groups, which are locked: in one round trip, or none where the
 * batch makes all of the groups.
 */
export async function compareLists(
  transaction: Transaction,
  project: ProjectKey,
  { lists }: BatchContents,
  { groups }: Seen,
): Promise<Differences> {
  const differences = new Map<IdList, { fresh: string[]; others: string[] }>();
  const ofFound: ComparedList[] = [];
  for (const list of lists) {
    const isMade = groups.get(list.group)?.isMade === true;
    differences.set(list.users, { fresh: isMade ? [...list.users] : [], others: [] });
    if (!isMade) ofFound.push(list);
  }
  for await (const rows of transaction.runEach(comparisons(project, ofFound))) {
    for (const [number, fresh, others] of rows as unknown as [number, string[] | null, string[] | null][]) {
      const difference = differences.get((ofFound[number] as ComparedList).users);
      for (const id of fresh ?? []) difference?.fresh.push(id);
      for (const id of others ?? []) difference?.others.push(id);
    }
  }
  return differences;
}

/** One statement compares lists with so many users, or one list with more: their text is made within some milliseconds. */
const COMPARED_AT_ONCE = 20_000;

/** The statements that compare the lists, which they name by their numbers. */
function* comparisons(project: ProjectKey, lists: readonly ComparedList[]): Generator<Call> {
  let [from, listed] = [0, 0];
  for (const [index, { users }] of lists.entries()) {
    listed += users.size;
    if (listed < COMPARED_AT_ONCE && index < lists.length - 1) continue;
    const some = [...lists.entries()].slice(from, index + 1);
    yield [
      sql.COMPARE_LISTS,
      project,
      plainArray(some.flatMap(([number, list]) => Array<number>(list.users.size).fill(number))),
      textArray(some.flatMap(([, list]) => [...list.users])),
      plainArray(some.map(([number]) => number)),
      textArray(some.map(([, { group }]) => group.id)),
    ];
    [from, listed] = [index + 1, 0];
  }
}
