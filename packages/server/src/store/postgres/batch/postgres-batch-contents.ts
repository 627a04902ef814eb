import type { Batch } from '@rollcall/protocol';
import { type GroupItems, groupItems, type UserItems, userItems } from './postgres-batch-items.ts';

export type IdList = ReadonlySet<string>;

/** A list of members that is compared with the members of its group: the first and the last that the batch gives it. */
export interface ComparedList {
  readonly group: GroupItems;
  readonly users: IdList;
}

/** What a checked batch says of each user and group: the same for every attempt at it. */
export class BatchContents {
  readonly users: readonly UserItems[];
  readonly groups: readonly GroupItems[];
  readonly lists: readonly ComparedList[];

  constructor({ users = [], groups = [] }: Batch) {
    this.users = userItems(users);
    this.groups = groupItems(groups);
    this.lists = this.groups.flatMap((group) =>
      [...new Set([group.firstList, group.lastList])]
        .filter((listed) => listed !== null)
        .map((listed) => ({ group, users: listed })),
    );
  }

  /** The users who are named as members and are no items. */
  mereMembers(): IdList {
    const items = new Set(this.users.map(({ id }) => id));
    const mere = new Set<string>();
    for (const { lists } of this.groups) {
      for (const list of lists) for (const id of list ?? []) if (!items.has(id)) mere.add(id);
    }
    return mere;
  }
}
