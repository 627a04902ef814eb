/** The effect of a batch on each user and group, item by item, computed from their stored state. */
import type { Batch, ChangeCounts } from '@rollcall/protocol';
import { toStored } from '../../stored-write.ts';
import { textArray } from '../postgres-text.ts';
import { USER_FIELDS, type UserField } from '../roster/postgres-users.ts';
import { GROUP_FIELDS, type GroupField } from './postgres-batch-statements.ts';

export type IdList = ReadonlySet<string>;

export type Kind = keyof ChangeCounts;

/** How a resource was: made by this batch, or there with a status; a bit of `differs` for each field whose first value is another. */
export type Found =
  | { readonly isMade: true }
  | { readonly isMade: false; readonly status: string; readonly differs: number };

type Item<Field extends string> = { readonly [field in Field]?: string | null };

/** The initial fields of a resource. */
const DEFAULTS: { readonly [field: string]: string } = { status: 'active', metadata: '{}' };

/** All items of a batch with one ID, in order. '' stands for a value that is cleared. */
class Items<Field extends string> {
  readonly id: string;
  readonly #fields: readonly Field[];
  readonly #items: readonly Item<Field>[];

  constructor(id: string, fields: readonly Field[], items: readonly Item<Field>[]) {
    this.id = id;
    this.#fields = fields;
    this.#items = items;
  }

  /** Whether the first item supplies the field. */
  beginsWith(field: Field): boolean {
    return this.#items[0]?.[field] !== undefined;
  }

  get isRepeated(): boolean {
    return this.#items.length > 1;
  }

  /** A field's first value, which is compared with how it was; null where none is supplied. */
  firstOf(field: Field): string | null {
    return valueIn(
      this.#items.find((item) => item[field] !== undefined),
      field,
    );
  }

  /** A field's last value, which is how it will be; null where none is supplied. */
  lastOf(field: Field): string | null {
    return valueIn(
      this.#items.findLast((item) => item[field] !== undefined),
      field,
    );
  }

  /** The fields that each item changes, as those before it left them. */
  changes(found: Found): Field[][] {
    const known = new Map<Field, string | null>();
    if (found.isMade) for (const field of this.#fields) known.set(field, DEFAULTS[field] ?? '');
    return this.#items.map((item) => {
      const supplied = [...this.#fields.entries()].filter(([, field]) => item[field] !== undefined);
      const changed = supplied.filter(([bit, field]) =>
        known.has(field)
          ? known.get(field) !== valueIn(item, field)
          : !found.isMade && (found.differs & (1 << bit)) !== 0,
      );
      for (const [, field] of supplied) known.set(field, valueIn(item, field));
      return changed.map(([, field]) => field);
    });
  }
}

const valueIn = <Field extends string>(item: Item<Field> | undefined, field: Field): string | null =>
  item === undefined ? null : (item[field] ?? '');

/** The columns of resources as arrays: their IDs, and of each field the first or the last value. */
export const columnsOfItems = <Field extends string>(
  all: readonly Items<Field>[],
  fields: readonly Field[],
  value: 'firstOf' | 'lastOf',
): string[] => [
  textArray(all.map(({ id }) => id)),
  ...fields.map((field) => textArray(all.map((items) => items[value](field)))),
];

export type UserItems = Items<UserField>;

/** The items of one group, with their lists of members. */
export class GroupItems extends Items<GroupField> {
  /** The list of each item, null where it has none. */
  readonly lists: readonly (IdList | null)[];
  /** The first and the last list; null where no item has one. */
  readonly firstList: IdList | null;
  readonly lastList: IdList | null;

  constructor(id: string, items: NonNullable<Batch['groups']>) {
    super(
      id,
      GROUP_FIELDS,
      items.map(({ members: _, ...write }) => toStored(write)),
    );
    this.lists = items.map(({ members }) => (members === undefined ? null : new Set(members)));
    this.firstList = this.lists.find((list) => list !== null) ?? null;
    this.lastList = this.lists.findLast((list) => list !== null) ?? null;
  }

  /** The users on the last list who are missing on an earlier one: a membership of theirs ends with that item. */
  get interrupted(): string[] {
    const [first, ...others] = this.lists.filter((list) => list !== null);
    if (first === undefined || others.length === 0) return [];
    const always = others.reduce((common, list) => common.intersection(list), first);
    return [...(others.at(-1) ?? first)].filter((id) => !always.has(id));
  }

  /** Whether each item changes the members. `isFirstAnother`: the first list is another than the members were. */
  memberChanges(isFirstAnother: boolean): boolean[] {
    let before: IdList | null = null;
    return this.lists.map((list) => {
      if (list === null) return false;
      const isAnother =
        before === null ? isFirstAnother : before.size !== list.size || !before.isSubsetOf(list);
      before = list;
      return isAnother;
    });
  }
}

/** A list of members that is compared with the members of its group: the first and the last that the batch gives it. */
export interface ComparedList {
  readonly group: GroupItems;
  readonly users: IdList;
}

/** The items of a checked batch for each user and group; every attempt uses the same ones. */
export class BatchContents {
  readonly users: readonly UserItems[];
  readonly groups: readonly GroupItems[];
  readonly lists: readonly ComparedList[];
  /** The users who are named as members and are no items. */
  readonly mereMembers: IdList;

  constructor({ users = [], groups = [] }: Batch) {
    const usersById = Map.groupBy(users, ({ id }) => id);
    this.users = [...usersById].map(([id, items]) => new Items(id, USER_FIELDS, items.map(toStored)));
    this.groups = [...Map.groupBy(groups, ({ id }) => id)].map(([id, items]) => new GroupItems(id, items));
    this.lists = this.groups.flatMap((group) =>
      [...new Set([group.firstList, group.lastList])]
        .filter((users) => users !== null)
        .map((users) => ({ group, users })),
    );
    const mere = new Set<string>();
    for (const { members = [] } of groups) for (const id of members) if (!usersById.has(id)) mere.add(id);
    this.mereMembers = mere;
  }
}

/** The outcome of each item: of several items for a new resource, the first creates it. */
export const kindsOf = (found: Found, changes: readonly boolean[]): Kind[] =>
  changes.map((isChange, index) => {
    if (found.isMade && index === 0) return 'created';
    return isChange ? 'updated' : 'unchanged';
  });

export function countKinds(kinds: Iterable<Kind>): ChangeCounts {
  const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
  for (const kind of kinds) counts[kind] += 1;
  return counts;
}
