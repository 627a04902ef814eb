import type { Status } from '@rollcall/protocol';
import type { Entry } from './roster-entry.ts';

/** The fields of a group that decide what can be written in it. Undefined: no line has the field. */
interface CheckedGroup {
  readonly status: Status | undefined;
  readonly members: readonly string[] | undefined;
}

/** What the checked lines of a dry run would have written of users and groups. Stored in memory: their IDs, and members. */
export class CheckedRoster {
  /** The status where a line has one. */
  readonly users = new Map<string, Status | undefined>();
  readonly groups = new Map<string, CheckedGroup>();

  store({ kind, id, item, members }: Entry): void {
    if (id === null) return;
    const status = item.status as Status | undefined;
    if (kind === 'user') {
      this.users.set(id, status ?? this.users.get(id));
      return;
    }
    const before = this.groups.get(id);
    this.groups.set(id, {
      status: status ?? before?.status,
      members: item.members === undefined ? before?.members : members,
    });
  }
}
