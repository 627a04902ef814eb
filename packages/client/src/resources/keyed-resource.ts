import { path } from '../http/path.ts';
import type { CallOptions, Outgoing, Transport } from '../http/transport.ts';
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

/** A resource that is read and written by its ID. Every method rejects with a RollcallError. */
export abstract class KeyedResource<Value, Write, Creation, Creating = Done> extends Resource {
  /** @internal */
  protected readonly collection: () => string;

  /**
   * @param collection the path of all of them
   * @internal
   */
  constructor(transport: Transport, collection: () => string) {
    super(transport);
    this.collection = collection;
  }

  async get(id: string, options?: CallOptions): Promise<Value> {
    return this.transport.json('GET', this.pathOf(id), options);
  }

  /** The value with its ETag, for a conditional write: `put(id, write, { ifMatch: etag })`. */
  async getTagged(id: string, options?: CallOptions): Promise<Tagged<Value>> {
    const { body, headers } = await this.transport.send({ method: 'GET', path: this.pathOf(id) }, options);
    return { value: body as Value, etag: headers.get('etag') ?? '' };
  }

  /** Creates or updates; only supplied fields change. The `members` of a group replace the list. */
  async put(id: string, body: Write, options?: CallOptions & Precondition): Promise<Done> {
    return this.write('PUT', this.pathOf(id), options, { body });
  }

  /** Creates, or rejects with `…_already_exists`. Never retried. */
  async create(body: Creation, options?: CallOptions): Promise<Creating> {
    return this.transport.json('POST', this.collection(), options, { body });
  }

  /**
   * Sends a write with its precondition.
   * @internal
   */
  protected write<Body = Done>(
    method: Outgoing['method'],
    path: string,
    options: (CallOptions & Precondition) | undefined,
    more?: Partial<Outgoing>,
  ): Promise<Body> {
    // A proxy that compresses the answer makes its ETag weak, and a weak one never matches.
    const ifMatch = options?.ifMatch?.replace('W/', '');
    const headers = { 'if-match': ifMatch, 'if-none-match': options?.ifNoneMatch };
    return this.transport.json(method, path, options, { headers, ...more });
  }

  /** @internal */
  protected pathOf(id: string): string {
    return this.collection() + path`/${id}`;
  }
}

/** The same for a host, which also reads what has changed, and deletes. */
export abstract class HostedResource<Value, Write, Creation, Creating = Done> extends KeyedResource<
  Value,
  Write,
  Creation,
  Creating
> {
  /** The value with its ETag, or null when it has not changed since `etag`, where one is given. */
  async getIfChanged(
    id: string,
    etag: string | undefined,
    options?: CallOptions,
  ): Promise<Tagged<Value> | null> {
    const request = { method: 'GET', path: this.pathOf(id), headers: { 'if-none-match': etag } } as const;
    const { status, body, headers } = await this.transport.send(request, options);
    return status === 304 ? null : { value: body as Value, etag: headers.get('etag') ?? '' };
  }

  /** Deletes permanently. A retry after a lost response can reject with the not-found error. */
  async delete(id: string, options?: CallOptions & Precondition): Promise<Done> {
    return this.write('DELETE', this.pathOf(id), options);
  }
}
