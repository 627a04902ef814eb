import { unpackIds } from '../worker-threads/packed-ids.ts';
import { type Change, membershipChanges, resourceChanges } from './changes.ts';

/** The changes of one user or group. */
interface Merged {
  readonly resource: 'user' | 'group';
  readonly id: string;
  isCreated: boolean;
  fields: ReadonlySet<string>;
  /** The difference of the status: what was there and back is none. */
  status: 'deactivated' | 'activated' | null;
  added: ReadonlySet<string>;
  removed: ReadonlySet<string>;
  /** Members who were removed, and then added again: what the membership had is gone. */
  rejoined: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const NO_MEMBERS = { added: NONE, removed: NONE, rejoined: NONE };

/** The changes of a batch: those of several items about one user or group are put together. */
export class MergedChanges {
  readonly #users = new Map<string, Merged>();
  readonly #groups = new Map<string, Merged>();

  add(changes: readonly Change[]): void {
    for (const change of changes) {
      if ('group' in change) this.#merge(this.#of(this.#groups, 'group', change.group), change);
      else if ('user' in change) this.#merge(this.#of(this.#users, 'user', change.user), change);
    }
  }

  /** Users first, in the order in which the batch names them. */
  all(): Change[] {
    return [...this.#users.values(), ...this.#groups.values()].flatMap(changesOf);
  }

  #of(all: Map<string, Merged>, resource: Merged['resource'], id: string): Merged {
    let merged = all.get(id);
    if (merged === undefined) {
      // Most users of a batch are only created: sets are made when they are needed.
      merged = { resource, id, isCreated: false, fields: NONE, status: null, ...NO_MEMBERS };
      all.set(id, merged);
    }
    return merged;
  }

  #merge(merged: Merged, change: Change): void {
    const [, event] = change.type.split('.');
    if (event === 'created') merged.isCreated = true;
    else if ('fields' in change) merged.fields = merged.fields.union(new Set(change.fields));
    else if (event === 'deactivated' || event === 'activated')
      merged.status = merged.status === null ? event : null;
    else if ('users' in change) mergeMembers(merged, event === 'added', new Set(unpackIds(change.users)));
  }
}

function mergeMembers(merged: Merged, areAdded: boolean, users: ReadonlySet<string>): void {
  const { added, removed, rejoined } = merged;
  if (areAdded) {
    merged.added = added.union(users.difference(removed));
    merged.rejoined = rejoined.union(users.intersection(removed));
    merged.removed = removed.difference(users);
  } else {
    merged.removed = removed.union(users.difference(added));
    merged.rejoined = rejoined.difference(users);
    merged.added = added.difference(users);
  }
}

function changesOf({ resource, id, isCreated, fields, status, added, removed, rejoined }: Merged): Change[] {
  const before = status === 'activated' ? 'deleted' : 'active';
  const after = status === 'deactivated' ? 'deleted' : 'active';
  return [
    ...resourceChanges(resource, id, isCreated ? null : before, after, [...fields]),
    ...membershipChanges(id, added, removed, rejoined),
  ];
}
