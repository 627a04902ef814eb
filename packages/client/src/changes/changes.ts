import { queryString } from '../http/path.ts';
import type { CallOptions, Transport } from '../http/transport.ts';
import type { ChangeList, GroupEntry, RecordedChange, User } from '../protocol.ts';
import type { Rollcall } from '../rollcall.ts';
import type { ReceivedEvent } from '../streams/received-event.ts';
import { type StreamOptions, Watch } from '../streams/watch.ts';

/** Which changes to read. */
export interface ChangesFilter {
  /** Only those after this position: `next` of a page, or the `id` of a change; `latest`: new ones. Default: all that are stored. */
  readonly after?: string | undefined;
  /** Only these types, such as `user.created` and `member.*`. */
  readonly types?: readonly string[] | undefined;
  /** Only changes that name this group. */
  readonly group?: string | undefined;
  /** Only changes that name this user. */
  readonly user?: string | undefined;
  /** Only changes by this actor: `kind:id`, or a kind. */
  readonly actor?: string | undefined;
  /** Only changes of requests with this `x-request-id`. */
  readonly requestID?: string | undefined;
}

/** Which page of changes. */
export interface ChangesPage extends ChangesFilter {
  /** 1 to 10,000. Default: 1,000. */
  readonly limit?: number | undefined;
}

/** Changes as they happen. It resumes after the last one that was read, also on another process of the server. */
export type ChangesWatch = Watch<RecordedChange>;

const PATH = '/v1/changes';
/** Most IDs of one request. */
const IDS_MAX = 100;
/** The length of a query with several IDs: proxies take 8 KiB for the path and the query by default. */
const QUERY_MAX = 7_000;

/** The change feed of a client's project. Making one sends no request; it ends with the client. */
// biome-ignore lint/complexity/useLiteralKeys: the transport is not part of the public type.
export const changesOf = (rollcall: Rollcall): Changes => new Changes(rollcall['transport']);

/** The record of changes. Every method rejects with a RollcallError: with status 410 when everything has to be read anew. */
export class Changes {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The position after the newest change, to begin at: read everything, and go on from there. */
  async latest(options?: CallOptions): Promise<string> {
    return (await this.page({ after: 'latest' }, options)).next;
  }

  /** One page. With filters it can be empty although there are more. */
  async page(page: ChangesPage = {}, options?: CallOptions): Promise<ChangeList> {
    return this.#transport.json('GET', PATH + queryOf(page), options);
  }

  /** All changes up to the newest one, page by page: ends there. */
  async *list(
    filter: ChangesFilter = {},
    options?: CallOptions,
  ): AsyncGenerator<RecordedChange, void, undefined> {
    for (let { after } = filter, more = true; more; ) {
      const page = await this.page({ ...filter, after }, options);
      yield* page.changes;
      ({ next: after, more } = page);
    }
  }

  /** All changes and then each new one, reconnecting as other streams do: `for await (const change of changes.follow({ after }))`. */
  follow({
    signal,
    deadAfterMs,
    onOpen,
    onRetry,
    ...filter
  }: ChangesFilter & StreamOptions = {}): ChangesWatch {
    const options = { signal, deadAfterMs, onOpen, onRetry };
    return new Watch(this.#transport, () => PATH + queryOf(filter), options, undefined, changeOf);
  }

  /** The users with these IDs, of any number, without those that do not exist. */
  async users(ids: Iterable<string>, options?: CallOptions): Promise<User[]> {
    return this.#byId('users', ids, (body: { users: User[] }) => body.users, options);
  }

  /** The groups with these IDs, of any number, without those that do not exist. They have no members. */
  async groups(ids: Iterable<string>, options?: CallOptions): Promise<GroupEntry[]> {
    return this.#byId('groups', ids, (body: GroupEntry[]) => body, options);
  }

  async #byId<Body, Item>(
    list: string,
    ids: Iterable<string>,
    itemsOf: (body: Body) => Item[],
    options: CallOptions | undefined,
  ): Promise<Item[]> {
    const found: Item[] = [];
    for (const query of queriesOf(ids)) {
      const body = await this.#transport.json<Body>('GET', `/v1/${list}?${query}`, options);
      found.push(...itemsOf(body));
    }
    return found;
  }
}

/** Each ID once, in queries that the server and proxies take. */
function* queriesOf(ids: Iterable<string>): Generator<string> {
  let query = '';
  let count = 0;
  for (const id of new Set(ids)) {
    const part = `id=${encodeURIComponent(id)}`;
    if (count === IDS_MAX || (count > 0 && query.length + part.length > QUERY_MAX)) {
      yield query;
      query = '';
      count = 0;
    }
    query += query && '&';
    query += part;
    count += 1;
  }
  if (count > 0) yield query;
}

const queryOf = ({ types, requestID, after, limit, group, user, actor }: ChangesPage) =>
  queryString({ after, limit, group, user, actor, type: types?.join(','), request_id: requestID });

const changeOf = ({ data }: ReceivedEvent) => data as RecordedChange;
