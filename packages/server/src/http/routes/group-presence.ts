import type { Readable } from 'node:stream';
import { canonicalLocation, type Findings, isJsonObject, limits } from '@rollcall/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GroupName } from '../../core/caller.ts';
import type { ListName } from '../../core/page-token.ts';
import { chunks } from '../../core/paging.ts';
import type { PresenceFilter, PresencePage } from '../../core/presence-reading.ts';
import type { GroupNoun } from '../../core/refusals.ts';
import type { PresenceScope } from '../../presence/presence-store.ts';
import {
  asksForStream,
  openPresenceStream,
  refusePaging,
  type StreamRequest,
} from '../../realtime/sse-route.ts';
import type { Services } from '../../services.ts';
import type { RequestRule } from '../fastify-types.ts';
import { listBody, listOf, pageRule } from '../paged-list.ts';
import { presentPresence } from '../present.ts';
import { answers, GroupPresenceQuery, IdInPath, PRESENCE_READING } from '../schemas.ts';
import type { ById, GroupWords } from './route-words.ts';

/** Who is present in a group. */
export function groupPresenceRoutes(app: FastifyInstance, services: Services, words: GroupWords): void {
  const { noun, path, Noun, aNoun } = words;
  const schema = {
    operationId: `list${Noun}Presence`,
    summary: `Who is present in ${aNoun}, in order of ID`,
    tags: ['presence'],
    params: IdInPath,
    querystring: GroupPresenceQuery,
    response: answers(PRESENCE_READING),
  };
  const rule = presencePageRule(services, ({ params }) => (params as ById['Params']).id);
  app.get<ById>(`${path}/:id/presence`, { schema, config: { rule } }, (request, reply) => {
    const { authorization } = request.headers;
    const stillAllowed = () => services.authenticator.authenticate(authorization);
    const watching = { credentials: authorization, stillAllowed };
    return groupPresence(services, request, reply, { noun, id: request.params.id }, watching);
  });
}

/** Reads the page of a group's presence that is asked for; `groupOf` says of which group, null where nothing does. */
export function presencePageRule(
  { pageTokens }: Services,
  groupOf: (request: FastifyRequest) => string | null,
): RequestRule {
  const readPage = pageRule(pageTokens, (request) => {
    const groupId = groupOf(request);
    return groupId === null ? null : listName(groupId, request);
  });
  return (request, findings) => {
    readPage(request, findings);
    if (asksForStream(request)) refusePaging(request, findings);
    else refusePagedCount(request, findings);
  };
}

function refusePagedCount({ query }: FastifyRequest, findings: Findings): void {
  const { count_only: countOnly, limit, token } = query as GroupPresenceQuery;
  if (countOnly !== true || (limit === undefined && token === undefined)) return;
  findings.invalid.add(
    'query parameter count_only',
    'either count_only or limit and token: a count has no pages',
  );
}

/**
 * The answer to a reading of this group's presence: a page of it, its count, or a stream, for as long as `watching` says.
 * @throws ServiceError the noun's not-found code
 */
export function groupPresence(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  { noun, id: groupId }: GroupName,
  watching: Pick<StreamRequest, 'viewer' | 'credentials' | 'stillAllowed'>,
): Promise<string | Readable | FastifyReply> {
  const { caller } = request;
  const filter = filterOf(request.query as GroupPresenceQuery);
  if (asksForStream(request)) {
    return openPresenceStream(services.streams, request, reply, {
      caller,
      groupId,
      noun,
      filter,
      ...watching,
    });
  }
  const scope = { project: caller.project, groupId };
  if ((request.query as GroupPresenceQuery).count_only === true) {
    return presenceCount(services, scope, noun, filter);
  }
  return presencePage(services, request, scope, noun, filter);
}

async function presenceCount(
  { presenceReading }: Services,
  scope: PresenceScope,
  noun: GroupNoun,
  filter: PresenceFilter,
): Promise<string> {
  return `{"count":${await presenceReading.countOfGroup(scope, noun, filter)}}`;
}

function presencePage(
  { presenceReading, pageTokens, log }: Services,
  request: FastifyRequest,
  scope: PresenceScope,
  noun: GroupNoun,
  filter: PresenceFilter,
): Promise<string | Readable> {
  const list = chunks(
    async (page, maxBytes) => asPage(await presenceReading.ofGroup(scope, noun, filter, page), maxBytes),
    request.page,
    limits.PRESENCE_PAGE_MAX_BYTES,
  );
  const tail = ({ last }: { last: string | null }) => {
    const name = listOf(request, listName(scope.groupId, request) ?? []);
    const token = last === null ? null : pageTokens.issue(name, last);
    return `],"pagination":{"token":${JSON.stringify(token)}}}`;
  };
  return listBody(list, { head: '{"users":[', tail }, request, log);
}

function filterOf({
  location,
  partial_match: partial = false,
  exclude_durable: excludeDurable = false,
}: GroupPresenceQuery): PresenceFilter {
  return {
    location: location === undefined ? null : { location: canonicalLocation(location), partial },
    excludeDurable,
  };
}

/** A page's token goes on with the same filter only. */
function listName(groupId: string, { query }: FastifyRequest): ListName | null {
  const { location } = query as Record<string, unknown>;
  if (location !== undefined && !isLocation(location)) return null;
  const filter = filterOf(query as GroupPresenceQuery);
  return ['presence', groupId, JSON.stringify(filter)];
}

const isLocation = (value: unknown) =>
  isJsonObject(value) && Object.values(value).every((part) => typeof part === 'string');

/** The entries as JSON, up to and including the one with which they have more than `maxBytes`. */
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
