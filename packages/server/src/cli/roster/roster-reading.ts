import type { Group, Status, User } from '@rollcall/protocol';
import type { ApiConnection } from './api-connection.ts';
import { pathSegment } from './api-path.ts';
import type { CheckedRoster } from './checked-roster.ts';

/** Users and groups as they would be after the checked lines of a dry run. What the server has of them is read once. */
export class RosterReading {
  readonly #connection: ApiConnection;
  readonly #checked: CheckedRoster;
  readonly #statuses = { users: new Map<string, Status | null>(), groups: new Map<string, Status | null>() };
  /** Of one group: messages of a group mostly come together. */
  #members: { readonly group: string; readonly users: ReadonlySet<string> } | null = null;

  constructor(connection: ApiConnection, checked: CheckedRoster) {
    this.#connection = connection;
    this.#checked = checked;
  }

  /** Null where there is no such user. */
  async userStatus(id: string): Promise<Status | null> {
    const { users } = this.#checked;
    return users.get(id) ?? (await this.#storedStatus('users', id)) ?? (users.has(id) ? 'active' : null);
  }

  /** Null where there is no such group. */
  async groupStatus(id: string): Promise<Status | null> {
    const checked = this.#checked.groups.get(id);
    const status = checked?.status ?? (await this.#storedStatus('groups', id));
    return status ?? (checked === undefined ? null : 'active');
  }

  async isMember(group: string, user: string): Promise<boolean> {
    const checked = this.#checked.groups.get(group)?.members;
    if (checked !== undefined) return checked.includes(user);
    let members = this.#members;
    if (members?.group !== group) {
      const found = await this.#connection.find<Group>(`/v1/groups/${pathSegment(group)}`);
      members = { group, users: new Set(found?.members) };
      this.#members = members;
    }
    return members.users.has(user);
  }

  async #storedStatus(kind: 'users' | 'groups', id: string): Promise<Status | null> {
    const read = this.#statuses[kind];
    let status = read.get(id);
    if (status === undefined) {
      const found = await this.#connection.find<User | Group>(`/v1/${kind}/${pathSegment(id)}`);
      status = found?.status ?? null;
      read.set(id, status);
    }
    return status;
  }
}
