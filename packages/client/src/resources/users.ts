import type { PagedList } from '../http/paged-list.ts';
import type { CallOptions } from '../http/transport.ts';
import type { User, UserGroup, UserItem, UserWrite } from '../protocol.ts';
import { HostedResource } from './keyed-resource.ts';
import { listAt } from './list-at.ts';

/** The users of the project. Every method rejects with a RollcallError. */
export class Users extends HostedResource<User, UserWrite, UserItem> {
  /** All users of the project, deleted ones included, in order of ID. */
  list(options?: CallOptions): PagedList<User> {
    return listAt(this.transport, this.collection, 'users', options);
  }

  /** The user's groups, in order of ID. */
  groups(id: string, options?: CallOptions): PagedList<UserGroup> {
    return listAt(this.transport, () => `${this.pathOf(id)}/groups`, 'groups', options);
  }
}
