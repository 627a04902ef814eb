import type { ProjectKey, WriteStamp } from '../../store.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { Transaction } from '../connections/postgres-database.ts';
import { assertAlive } from '../postgres-outcomes.ts';
import { plainArray, textArray } from '../postgres-text.ts';
import { USER_FIELDS } from '../postgres-users.ts';
import { firstColumns, lastColumns } from './postgres-batch-columns.ts';
import type { BatchContents, ComparedList, IdList } from './postgres-batch-contents.ts';
import type { Found, GroupItems, UserItems } from './postgres-batch-items.ts';
import * as sql from './postgres-batch-statements.ts';

/** How the store was when the batch held what it names. */
export interface Seen {
  /** Users who are not here are there as the items say. */
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
export async function look(
  transaction: Transaction,
  project: ProjectKey,
  contents: BatchContents,
  { now, revision }: WriteStamp,
): Promise<Seen> {
  const { users, groups } = contents;
  const call = (statement: string, ...parameters: unknown[]): Call => [statement, project, ...parameters];
  const sizes = plainArray(groups.map(({ lastList }) => lastList?.size ?? 0));
  const repeated = plainArray(users.map(({ isRepeated }) => isRepeated));
  const mere = textArray(contents.mereMembers());
  const [, foundGroups, strangers, , [foundUsers], [alive]] = await transaction.run(
    call(sql.HOLD_GROUPS, ...lastColumns(groups, sql.GROUP_COLUMNS), sizes, revision),
    call(sql.LOOK_AT_GROUPS, ...firstColumns(groups, sql.GROUP_COLUMNS), revision),
    call(sql.HOLD_USERS, mere, textArray(users.map(({ id }) => id))),
    call(sql.MAKE_USERS, ...lastColumns(users, USER_FIELDS), now, revision),
    call(sql.LOOK_AT_USERS, ...firstColumns(users, USER_FIELDS), repeated, revision),
    // Last, so that it held for all of them.
    call(sql.IS_ALIVE),
  );
  assertAlive(alive?.[0]);
  return {
    users: seenUsers(users, foundUsers as Row),
    groups: seenGroups(groups, foundGroups),
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

/**
 * Compares the lists of members with the members of their groups, which are held: in one round trip, or none where the
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

/** The statements that compare the lists, which they call by their numbers. */
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
