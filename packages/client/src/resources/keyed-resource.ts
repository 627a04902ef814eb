import { path } from '../http/path.ts';
import type { CallOptions, Outgoing } from '../http/transport.ts';
import type { Done } from '../protocol.ts';
import { Resource } from './resource.ts';

/** A resource with its ETag, which changes whenever the resource does. */
export interface Tagged<T> {
  readonly value: T;
  readonly etag: string;
}

/** A condition on the current state. A write whose condition does not hold rejects with status 412; it is never retried. */
export interface Precondition {
  /** Only if this is still the ETag; `*`: only if the resource exists. */
  readonly ifMatch?: string | undefined;
  /** `*`: only if the resource does not exist. */
  readonly ifNoneMatch?: string | undefined;
}

/** Users or groups, by their ID. Every method rejects with a RollcallError. */
export abstract class KeyedResource<Value, Write, Creation> extends Resource {
  /** @internal */
  protected abstract readonly collection: string;

  async get(id: string, options?: CallOptions): Promise<Value> {
    return this.transport.json({ method: 'GET', path: this.#pathOf(id) }, options);
  }

  /** The value with its ETag, for a conditional write: `put(id, write, { ifMatch: etag })`. */
  async getTagged(id: string, options?: CallOptions): Promise<Tagged<Value>> {
    return (await this.getIfChanged(id, undefined, options)) as Tagged<Value>;
  }

  /** The same, or null when the value has not changed since `etag`, where one is given. */
  async getIfChanged(
    id: string,
    etag: string | undefined,
    options?: CallOptions,
  ): Promise<Tagged<Value> | null> {
    const request = { method: 'GET', path: this.#pathOf(id), headers: { 'if-none-match': etag } } as const;
    const { status, body, headers } = await this.transport.send(request, options);
    return status === 304 ? null : { value: body as Value, etag: headers.get('etag') ?? '' };
  }

  /** Creates or updates; only supplied fields change. The `members` of a group replace the list. */
  async put(id: string, body: Write, options?: CallOptions & Precondition): Promise<Done> {
    return this.write({ method: 'PUT', path: this.#pathOf(id), body }, options);
  }

  /** Creates, or rejects with `user_already_exists` or `group_already_exists`. Never retried. */
  async create(creation: Creation, options?: CallOptions): Promise<Done> {
    return this.transport.json({ method: 'POST', path: this.collection, body: creation }, options);
  }

  /** Deletes permanently. A retry after a lost response can reject with `user_not_found` or `group_not_found`. */
  async delete(id: string, options?: CallOptions & Precondition): Promise<Done> {
    return this.write({ method: 'DELETE', path: this.#pathOf(id) }, options);
  }

  /**
   * Sends a write with its precondition.
   * @internal
   */
  protected write(outgoing: Outgoing, options: CallOptions & Precondition = {}): Promise<Done> {
    const headers = { 'if-match': options.ifMatch, 'if-none-match': options.ifNoneMatch };
    return this.transport.json({ ...outgoing, headers }, options);
  }

  #pathOf(id: string): string {
    return this.collection + path`/${id}`;
  }
}
