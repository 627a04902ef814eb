import type { ProjectKey, WriteStamp } from '../../store.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { assertAlive } from '../postgres-outcomes.ts';
import { plainArray, textArray } from '../postgres-text.ts';
import { USER_FIELDS } from '../postgres-users.ts';
import { firstColumns, lastColumns, listedColumns } from './postgres-batch-columns.ts';
import type { BatchContents, IdList } from './postgres-batch-contents.ts';
import type { Found, GroupItems, UserItems } from './postgres-batch-items.ts';
import * as sql from './postgres-batch-statements.ts';

/** How the store was when the batch held what it names. */
export interface Seen {
  /** Users who are not here are there as the items say. */
  readonly users: ReadonlyMap<UserItems, Found>;
  /** Without those that are not there and have no name to be made with. */
  readonly groups: ReadonlyMap<GroupItems, Found>;
  /** How each compared list differs from the members of its group. */
  readonly lists: ReadonlyMap<IdList, ListDifference>;
  /** Users who are named as members and do not exist. */
  readonly strangers: IdList;
}

export interface ListDifference {
  /** How many on it are not members yet. */
  fresh: number;
  /** The members who are not on it. */
  readonly others: string[];
}

/** Takes the locks, makes what is new and reads what there is, in one round trip. @throws ProjectGoneError */
export async function look(
  transaction: Transaction,
  project: ProjectKey,
  contents: BatchContents,
  { now, revision }: WriteStamp,
): Promise<Seen> {
  const { users, groups, lists } = contents;
  const call = (statement: string, ...parameters: unknown[]): Call => [statement, project, ...parameters];
  const sizes = plainArray(groups.map(({ lastList }) => lastList?.size ?? 0));
  const repeated = plainArray(users.map(({ isRepeated }) => isRepeated));
  const mere = textArray(contents.mereMembers());
  const listed = listedColumns(lists);
  const ofGroups = [plainArray([...lists.keys()]), textArray(lists.map(({ group }) => group.id))];
  const [, foundGroups, strangers, , [foundUsers], fresh, others, [alive]] = await transaction.run(
    call(sql.HOLD_GROUPS, ...lastColumns(groups, sql.GROUP_COLUMNS), sizes, revision),
    call(sql.LOOK_AT_GROUPS, ...firstColumns(groups, sql.GROUP_COLUMNS), revision),
    call(sql.HOLD_USERS, mere, textArray(users.map(({ id }) => id))),
    call(sql.MAKE_USERS, ...lastColumns(users, USER_FIELDS), now, revision),
    call(sql.LOOK_AT_USERS, ...firstColumns(users, USER_FIELDS), repeated, revision),
    call(sql.COUNT_FRESH, ...listed),
    call(sql.OTHERS, ...listed, ...ofGroups),
    // Last, so that it held for all of them.
    call(sql.IS_ALIVE),
  );
  assertAlive(alive?.[0]);
  return {
    users: seenUsers(users, foundUsers as Row),
    groups: seenGroups(groups, foundGroups),
    lists: seenLists(contents, fresh, others),
    strangers: new Set(strangers.map(([id]) => id as string)),
  };
}

function seenUsers(users: readonly UserItems[], [places, made, statuses, differ]: Row) {
  const seen = new Map<UserItems, Found>();
  for (const [index, place] of ((places ?? []) as number[]).entries()) {
    const [isMade, status, differs] = [made, statuses, differ].map((all) => (all as unknown[])[index]);
    seen.set(users[place - 1] as UserItems, toFound(isMade, status, differs));
  }
  return seen;
}

function seenGroups(groups: readonly GroupItems[], rows: readonly Row[]) {
  const seen = new Map<GroupItems, Found>();
  for (const [place, isMade, status, differs] of rows) {
    const group = groups[(place as number) - 1] as GroupItems;
    // Every group is made where it is not there; that this one was not is an error, and it goes with the transaction.
    if (isMade === true && !group.beginsWith('name')) continue;
    seen.set(group, toFound(isMade, status, differs));
  }
  return seen;
}

const toFound = (isMade: unknown, status: unknown, differs: unknown): Found =>
  isMade === true ? { isMade } : { isMade: false, status: status as string, differs: differs as number };

function seenLists({ lists }: BatchContents, fresh: readonly Row[], others: readonly Row[]) {
  const seen = lists.map(({ users }): [IdList, ListDifference] => [users, { fresh: 0, others: [] }]);
  const numbered = (number: unknown) => (seen[number as number] as [IdList, ListDifference])[1];
  for (const [number, count] of fresh) numbered(number).fresh = count as number;
  for (const [number, id] of others) numbered(number).others.push(id as string);
  return new Map(seen);
}
