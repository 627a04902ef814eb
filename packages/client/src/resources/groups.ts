import { PagedList } from '../http/paged-list.ts';
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
import { HostedResource, type Precondition } from './keyed-resource.ts';
import { listAt } from './list-at.ts';

/** Groups and their members. Every method rejects with a RollcallError. */
export class Groups extends HostedResource<Group, GroupWrite, GroupCreation> {
  /** All groups of the project, deleted ones included, in order of ID and without their members. */
  list(options?: CallOptions): PagedList<GroupEntry> {
    return new PagedList(async (query) => {
      const request = { method: 'GET', path: this.collection(), query: { ...query } } as const;
      const { body, headers } = await this.transport.send(request, options);
      return { items: body as GroupEntry[], next: nextToken(headers.get('link')), total: null };
    });
  }

  /** The members of the group, in order of ID. */
  members(id: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.transport, () => this.#membersOf(id), 'users', options);
  }

  /** Adds and removes members. */
  async changeMembers(id: string, body: MembersChange, options?: CallOptions & Precondition): Promise<Done> {
    return this.write('POST', this.#membersOf(id), options, { body, repeatable: true });
  }

  #membersOf(id: string): string {
    return `${this.pathOf(id)}/members`;
  }
}

/** The `token` of `</v1/groups?limit=1&token=…>; rel="next"`. */
function nextToken(link: string | null): string | null {
  const [, query = ''] = link?.match(/<[^>?]*\?([^>]*)>\s*;\s*rel="?next"?/) ?? [];
  return new URLSearchParams(query).get('token');
}
