/** What a batch does to each user and group, item by item, worked out from what the store says of how they were. */
import type { Batch, ChangeCounts } from '@rollcall/protocol';
import { toStored } from '../../stored-write.ts';
import { USER_FIELDS, type UserField } from '../postgres-users.ts';
import { GROUP_COLUMNS } from './postgres-batch-statements.ts';

export type Kind = keyof ChangeCounts;

/** How a resource was: made by this batch, or there with a status; a bit of `differs` for each field whose first value is another. */
export type Found =
  | { readonly isMade: true }
  | { readonly isMade: false; readonly status: string; readonly differs: number };

/** All items of a batch with one ID, in order. '' stands for a value that is cleared. */
export class Items<Field extends string> {
  readonly id: string;
  readonly #fields: readonly Field[];
  readonly #items: { readonly [field in Field]?: string | null }[] = [];

  constructor(id: string, fields: readonly Field[]) {
    this.id = id;
    this.#fields = fields;
  }

  add(item: { readonly [field in Field]?: string | null }): void {
    this.#items.push(item);
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

  /** Whether each item changes a field, as those before it left it. */
  changes(found: Found): boolean[] {
    const known = new Map<Field, string | null>();
    if (found.isMade) for (const field of this.#fields) known.set(field, DEFAULTS[field] ?? '');
    return this.#items.map((item) => {
      const supplied = [...this.#fields.entries()].filter(([, field]) => item[field] !== undefined);
      const changed = supplied.filter(([place, field]) =>
        known.has(field) ? known.get(field) !== valueIn(item, field) : differs(found, place),
      );
      for (const [, field] of supplied) known.set(field, valueIn(item, field));
      return changed.length > 0;
    });
  }
}

/** What a resource is born with. */
const DEFAULTS: { readonly [field: string]: string } = { status: 'active', metadata: '{}' };

const differs = (found: Found, place: number): boolean =>
  !found.isMade && (found.differs & (1 << place)) !== 0;

function valueIn<Field extends string>(
  item: { readonly [field in Field]?: string | null } | undefined,
  field: Field,
): string | null {
  return item === undefined ? null : (item[field] ?? '');
}

export type UserItems = Items<UserField>;

export function userItems(users: NonNullable<Batch['users']>): UserItems[] {
  const byId = new Map<string, UserItems>();
  for (const { id, ...write } of users) {
    let items = byId.get(id);
    if (items === undefined) {
      items = new Items(id, USER_FIELDS);
      byId.set(id, items);
    }
    items.add(toStored(write));
  }
  return [...byId.values()];
}

/** The items of one group, with their lists of members. */
export class GroupItems extends Items<(typeof GROUP_COLUMNS)[number]> {
  /** The list of each item, null where it has none. */
  readonly lists: (ReadonlySet<string> | null)[] = [];

  get firstList(): ReadonlySet<string> | null {
    return this.lists.find((list) => list !== null) ?? null;
  }

  get lastList(): ReadonlySet<string> | null {
    return this.lists.findLast((list) => list !== null) ?? null;
  }

  /** Whether each item changes the members. `isFirstAnother` says whether the first list is another than the members were. */
  memberChanges(isFirstAnother: boolean): boolean[] {
    let before: ReadonlySet<string> | null = null;
    return this.lists.map((list) => {
      if (list === null) return false;
      const isAnother = before === null ? isFirstAnother : !areSame(before, list);
      before = list;
      return isAnother;
    });
  }
}

const areSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && a.isSubsetOf(b);

export function groupItems(groups: NonNullable<Batch['groups']>): GroupItems[] {
  const byId = new Map<string, GroupItems>();
  for (const { id, members, ...write } of groups) {
    let items = byId.get(id);
    if (items === undefined) {
      items = new GroupItems(id, GROUP_COLUMNS);
      byId.set(id, items);
    }
    items.add(toStored(write));
    items.lists.push(members === undefined ? null : new Set(members));
  }
  return [...byId.values()];
}

/** What each item comes to: the first of a resource that the batch makes makes it. */
export function kindsOf(found: Found, changes: readonly boolean[]): Kind[] {
  return changes.map((isChange, index) => {
    if (found.isMade && index === 0) return 'created';
    return isChange ? 'updated' : 'unchanged';
  });
}

export function countKinds(kinds: Iterable<Kind>): ChangeCounts {
  const counts: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
  for (const kind of kinds) counts[kind] += 1;
  return counts;
}
