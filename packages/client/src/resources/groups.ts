import { PagedList } from '../http/paged-list.ts';
import { path } from '../http/path.ts';
import type { CallOptions } from '../http/transport.ts';
import type {
  Done,
  Group,
  GroupCreation,
  GroupEntry,
  GroupWrite,
  Member,
  MembersChange,
} from '../protocol.ts';
import { KeyedResource, type Precondition } from './keyed-resource.ts';
import { listAt } from './list-at.ts';

/** Groups and their members. Every method rejects with a RollcallError. */
export class Groups extends KeyedResource<Group, GroupWrite, GroupCreation> {
  /** @internal */
  protected readonly collection = '/v1/groups';

  /** All groups of the project, deleted ones included, in order of ID and without their members. */
  list(options?: CallOptions): PagedList<GroupEntry> {
    return new PagedList(async (page) => {
      const query = { limit: page.limit, token: page.token };
      const { body, headers } = await this.transport.send(
        { method: 'GET', path: this.collection, query },
        options,
      );
      return { items: body as GroupEntry[], next: nextToken(headers.get('link')), total: null };
    });
  }

  /** The members of the group, in order of ID. */
  members(id: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.transport, () => path`/v1/groups/${id}/members`, 'users', options);
  }

  /** Adds and removes members. */
  async changeMembers(
    id: string,
    change: MembersChange,
    options?: CallOptions & Precondition,
  ): Promise<Done> {
    const url = path`/v1/groups/${id}/members`;
    return this.write({ method: 'POST', path: url, body: change, repeatable: true }, options);
  }
}

/** The `token` of `</v1/groups?limit=1&token=…>; rel="next"`. */
function nextToken(link: string | null): string | null {
  const [, query = ''] = link?.match(/<[^>?]*\?([^>]*)>\s*;\s*rel="?next"?/) ?? [];
  return new URLSearchParams(query).get('token');
}
