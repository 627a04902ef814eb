import { PagedList } from '../http/paged-list.ts';
import { path } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type {
  Done,
  Group,
  GroupCreation,
  GroupEntry,
  GroupWrite,
  Member,
  MembersChange,
} from '../protocol.ts';
import { listAt } from './list-at.ts';
import { type Precondition, preconditionHeaders, readTagged, type Tagged } from './tagged.ts';

/** Groups and who belongs to them. Every method rejects with a RollcallError. */
export class Groups {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All groups of the project, deleted ones included, in order of ID and without their members. */
  list(options?: CallOptions): PagedList<GroupEntry> {
    return new PagedList(async (page) => {
      const query = { limit: page.limit, token: page.token };
      const { body, headers } = await this.#transport.send(
        { method: 'GET', path: '/v1/groups', query },
        options,
      );
      return { items: body as GroupEntry[], next: nextToken(headers.get('link')), total: null };
    });
  }

  async get(id: string, options?: CallOptions): Promise<Group> {
    return this.#transport.json({ method: 'GET', path: path`/v1/groups/${id}` }, options);
  }

  /** The group with its ETag, to write it only if nobody else has: `put(id, write, { ifMatch: etag })`. */
  async getTagged(id: string, options?: CallOptions): Promise<Tagged<Group>> {
    return (await readTagged<Group>(this.#transport, path`/v1/groups/${id}`, options)) as Tagged<Group>;
  }

  /** The same, or null when it is still as it was. */
  async getIfChanged(id: string, etag: string, options?: CallOptions): Promise<Tagged<Group> | null> {
    return readTagged(this.#transport, path`/v1/groups/${id}`, options, etag);
  }

  /** Creates or updates; only what is supplied changes. `members` replaces the list. */
  async put(id: string, write: GroupWrite, options: CallOptions & Precondition = {}): Promise<Done> {
    const headers = preconditionHeaders(options);
    return this.#transport.json(
      { method: 'PUT', path: path`/v1/groups/${id}`, body: write, headers },
      options,
    );
  }

  /** Creates, or rejects with `group_already_exists`. Never sent twice. */
  async create(group: GroupCreation, options?: CallOptions): Promise<Done> {
    return this.#transport.json({ method: 'POST', path: '/v1/groups', body: group }, options);
  }

  /** Removes for good. One that was sent twice may find nothing the second time, and says `group_not_found`. */
  async delete(id: string, options: CallOptions & Precondition = {}): Promise<Done> {
    const headers = preconditionHeaders(options);
    return this.#transport.json({ method: 'DELETE', path: path`/v1/groups/${id}`, headers }, options);
  }

  /** Who belongs to the group, in order of ID. */
  members(id: string, options?: CallOptions): PagedList<Member> {
    return listAt(this.#transport, () => path`/v1/groups/${id}/members`, 'users', options);
  }

  /** Adds and removes members, without sending the whole list. */
  async changeMembers(
    id: string,
    change: MembersChange,
    options: CallOptions & Precondition = {},
  ): Promise<Done> {
    const request = { method: 'POST', path: path`/v1/groups/${id}/members`, body: change } as const;
    const headers = preconditionHeaders(options);
    return this.#transport.json({ ...request, headers, repeatable: true }, options);
  }
}

/** The `token` of `</v1/groups?limit=1&token=…>; rel="next"`. */
function nextToken(link: string | null): string | null {
  const [, query = ''] = link?.match(/<[^>?]*\?([^>]*)>\s*;\s*rel="?next"?/) ?? [];
  return new URLSearchParams(query).get('token');
}
