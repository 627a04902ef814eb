import type { PagedList } from '../http/paged-list.ts';
import { path } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { Done, User, UserGroup, UserItem, UserWrite } from '../protocol.ts';
import { listAt } from './list-at.ts';
import { type Precondition, preconditionHeaders, readTagged, type Tagged } from './tagged.ts';

/** The users of the project. Every method rejects with a RollcallError. */
export class Users {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All users of the project, deleted ones included, in order of ID. */
  list(options?: CallOptions): PagedList<User> {
    return listAt(this.#transport, () => '/v1/users', 'users', options);
  }

  async get(id: string, options?: CallOptions): Promise<User> {
    return this.#transport.json({ method: 'GET', path: path`/v1/users/${id}` }, options);
  }

  /** The user with their ETag, to write them only if nobody else has: `put(id, write, { ifMatch: etag })`. */
  async getTagged(id: string, options?: CallOptions): Promise<Tagged<User>> {
    return (await readTagged<User>(this.#transport, path`/v1/users/${id}`, options)) as Tagged<User>;
  }

  /** The same, or null when they are still as they were. */
  async getIfChanged(id: string, etag: string, options?: CallOptions): Promise<Tagged<User> | null> {
    return readTagged(this.#transport, path`/v1/users/${id}`, options, etag);
  }

  /** Creates or updates; only what is supplied changes. */
  async put(id: string, write: UserWrite, options: CallOptions & Precondition = {}): Promise<Done> {
    const headers = preconditionHeaders(options);
    return this.#transport.json(
      { method: 'PUT', path: path`/v1/users/${id}`, body: write, headers },
      options,
    );
  }

  /** Creates, or rejects with `user_already_exists`. Never sent twice. */
  async create(user: UserItem, options?: CallOptions): Promise<Done> {
    return this.#transport.json({ method: 'POST', path: '/v1/users', body: user }, options);
  }

  /** Removes for good. One that was sent twice may find nobody the second time, and says `user_not_found`. */
  async delete(id: string, options: CallOptions & Precondition = {}): Promise<Done> {
    const headers = preconditionHeaders(options);
    return this.#transport.json({ method: 'DELETE', path: path`/v1/users/${id}`, headers }, options);
  }

  /** The groups that the user belongs to, in order of ID. */
  groups(id: string, options?: CallOptions): PagedList<UserGroup> {
    return listAt(this.#transport, () => path`/v1/users/${id}/groups`, 'groups', options);
  }
}
