import {
  exactly,
  Flag,
  limits,
  maybe,
  meaning,
  PRESENCE_EVENTS,
  PresenceCount,
  PresenceList,
  type Static,
  type ValidationErrors,
} from '@rollcall/protocol';
import type { Caller } from '../../core/caller.ts';
import type { ListName } from '../../core/page-token.ts';
import type { PresencePage } from '../../core/presence/presence-reading.ts';
import type { StreamRequest } from '../../realtime/sessions/stream-request.ts';
import type { PageRequest } from '../../values/page.ts';
import { withCommas } from '../../values/with-commas.ts';
import { readPositionId } from '../../wire/event-text.ts';
import { countBody } from '../../wire/json-answer.ts';
import { presentPresence } from '../../wire/presenters.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { operationsOf, type StreamDefinition } from '../operation.ts';
import { pagedBody } from '../paged-list.ts';
import { ExpandParameter } from '../parameters/expand-parameter.ts';
import { hasLocation } from '../parameters/location-parameter.ts';
import { filterOf } from '../parameters/presence-filter.ts';
import type { Reply } from '../reply.ts';
import { locationParameters, PageQuery } from '../schemas.ts';
import {
  answerStream,
  checkStream,
  isStreamRequest,
  lastEventId,
  type WatchAccess,
  watchingHost,
} from '../streams.ts';
import { PRESENCE_TAG } from './presence.ts';

const operation = operationsOf('project', PRESENCE_TAG);

export const GroupPresenceQuery = exactly({
  ...locationParameters('Only who is exactly there. Absent: everyone who is present.'),
  exclude_durable: meaning(maybe(Flag), 'Leave durable presence out.', {
    default: false,
    'x-example': false,
  }),
  expand: ExpandParameter,
  count_only: meaning(
    maybe(Flag),
    'Answer `{"count": …}`: how many all pages would list. Not together with `limit` and `token`.',
    { default: false, 'x-example': false },
  ),
  ...PageQuery.properties,
});
export type GroupPresenceQuery = Static<typeof GroupPresenceQuery>;

const [PARAGRAPH, NEXT_PARAGRAPH] = ['12', '13'].map((paragraph) => ({ page: 'q3-report', paragraph }));

const PRESENCE_STREAM: StreamDefinition = {
  name: 'PresenceStreamEvent',
  events: PRESENCE_EVENTS,
  example: [
    {
      name: 'snapshot',
      id: '7e7509717a725170-0',
      data: { users: [{ id: 'ada', ephemeral: { locations: [PARAGRAPH] } }] },
    },
    {
      name: 'arrived',
      id: '7e7509717a725170-1',
      data: { id: 'ada', location: NEXT_PARAGRAPH, from: PARAGRAPH },
    },
    {
      name: 'departed',
      id: '7e7509717a725170-2',
      data: { id: 'ada', location: NEXT_PARAGRAPH, reason: 'expired' },
    },
  ],
};

export const PRESENCE_DESCRIPTION = `
A user set \`deleted\` is not shown, and neither are the users of a group set \`deleted\`. A page also ends with the entry
that makes it larger than ${withCommas(limits.PRESENCE_PAGE_MAX_BYTES)} bytes: go by its token.

With \`Accept: text/event-stream\` the answer is a stream of server-sent events: a \`snapshot\` of the reading, then
\`arrived\`, \`departed\` and \`durable\` as they happen. It takes no \`limit\`, \`token\` and \`count_only\`, and goes on after a
\`Last-Event-ID\`.`.trim();

export const PRESENCE_ANSWER = {
  schema: { anyOf: [PresenceList, PresenceCount] },
  description: 'A page of the users who are present, their count, or a stream of what changes.',
  example: {
    users: [
      {
        id: 'ada',
        ephemeral: { locations: [{ page: 'q3-report', paragraph: '12' }] },
        durable: { location: { page: 'q3-report', paragraph: '9' }, timestamp: '2026-03-01T09:30:00.000Z' },
      },
    ],
    pagination: { token: null },
  },
  stream: PRESENCE_STREAM,
};

const listGroupPresence = operation('GET /v1/groups/:id/presence', {
  id: 'listGroupPresence',
  summary: 'Who is present in a group, in order of ID',
  description: PRESENCE_DESCRIPTION,
  query: GroupPresenceQuery,
  list: { name: ({ pathId, query }) => presenceList(pathId, query) },
  answer: PRESENCE_ANSWER,
  rule: checkPresenceReading,
  async handle(exchange, services) {
    const { pathId } = exchange;
    return isStreamRequest(exchange)
      ? streamPresence(services, exchange, pathId, watchingHost(exchange, services))
      : readPresence(services, exchange, pathId);
  },
});

/** Rejects parameters that exclude each other. */
export function checkPresenceReading(
  exchange: Exchange<unknown, GroupPresenceQuery>,
  errors: ValidationErrors,
): void {
  const { count_only: countOnly, limit, token } = exchange.query;
  checkStream(exchange, errors);
  if (!isStreamRequest(exchange) && countOnly === true && (limit !== undefined || token !== undefined))
    errors.invalid.add(
      'query parameter count_only',
      'either count_only or limit and token: a count has no pages',
    );
}

/** The answer to a reading of a group's presence: a page, or a count. @throws ServiceError `group_not_found` */
export async function readPresence(
  { presenceReading, pageTokens }: HttpServices,
  exchange: Exchange<Caller, GroupPresenceQuery>,
  groupId: string,
): Promise<Reply> {
  const { caller, query } = exchange;
  const scope = { project: caller.project, groupId };
  const filter = filterOf(query);
  if (query.count_only === true) return countBody(await presenceReading.countOfGroup(scope, filter));
  const read = async (request: PageRequest, maxBytes: number) =>
    asPage(await presenceReading.ofGroup(scope, filter, request), maxBytes);
  return pagedBody('users', exchange, pageTokens, read, limits.PRESENCE_PAGE_MAX_BYTES);
}

/** The stream of a group's presence. @throws ServiceError `group_not_found`, or when the reader may not watch */
export async function streamPresence(
  { streams }: HttpServices,
  exchange: Exchange<Caller, GroupPresenceQuery>,
  groupId: string,
  watching: WatchAccess & Pick<StreamRequest, 'connection'>,
): Promise<Reply> {
  const { caller, query } = exchange;
  const request = { caller, groupId, filter: filterOf(query), ...watching };
  return answerStream(exchange, await streams.open(request, readPositionId(lastEventId(exchange))));
}

/** The list of a group's presence: a page's token is valid with the same filter only. Null where the location is invalid. */
export function presenceList(groupId: string, query: GroupPresenceQuery): ListName | null {
  if (!hasLocation(query)) return null;
  // What is shown is no part of the name, and the query is not validated yet.
  const { expand: _expand, ...parameters } = query;
  return ['presence', groupId, JSON.stringify(filterOf(parameters))];
}

/** The entries as JSON, up to and including the one with which they exceed `maxBytes`. */
function asPage({ entries, last }: PresencePage, maxBytes: number) {
  const items: string[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const item = presentPresence(entry);
    bytes += (items.length > 0 ? ','.length : 0) + Buffer.byteLength(item);
    items.push(item);
    if (bytes > maxBytes && items.length < entries.length) {
      return { items: items.join(','), count: items.length, last: entry.userId };
    }
  }
  return { items: items.join(','), count: items.length, last };
}

export const groupPresenceOperations = [listGroupPresence];
