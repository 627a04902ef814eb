import type { Readable } from 'node:stream';
import { canonicalLocation, isJsonObject, PresenceList } from '@rollcall/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { GroupName } from '../../core/caller.ts';
import type { ListName } from '../../core/page-token.ts';
import { chunks } from '../../core/paging.ts';
import type { PresenceFilter, PresencePage } from '../../core/presence-reading.ts';
import type { Services } from '../../services.ts';
import type { RequestRule } from '../fastify-types.ts';
import { listBody, listOf, pageRule } from '../paged-list.ts';
import { presentPresence } from '../present.ts';
import { answers, GroupPresenceQuery, IdInPath } from '../schemas.ts';
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
    response: answers(PresenceList),
  };
  const rule = presencePageRule(services, ({ params }) => (params as ById['Params']).id);
  app.get<ById>(`${path}/:id/presence`, { schema, config: { rule } }, (request) =>
    groupPresence(services, request, { noun, id: request.params.id }),
  );
}

/** Reads the page of a group's presence that is asked for; `groupOf` says of which group, null where nothing does. */
export const presencePageRule = (
  { pageTokens }: Services,
  groupOf: (request: FastifyRequest) => string | null,
): RequestRule =>
  pageRule(pageTokens, (request) => {
    const groupId = groupOf(request);
    return groupId === null ? null : listName(groupId, request);
  });

/** The answer to a reading of this group's presence. @throws ServiceError the noun's not-found code */
export function groupPresence(
  { presenceReading, pageTokens, log }: Services,
  request: FastifyRequest,
  { noun, id: groupId }: GroupName,
): Promise<string | Readable> {
  const scope = { project: request.caller.project, groupId };
  const filter = filterOf(request.query as GroupPresenceQuery);
  const list = chunks(
    async (page) => asPage(await presenceReading.ofGroup(scope, noun, filter, page)),
    request.page,
  );
  const tail = ({ last }: { last: string | null }) => {
    const name = listOf(request, listName(groupId, request) ?? []);
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

function asPage({ entries, last }: PresencePage) {
  return { items: entries.map(presentPresence).join(','), count: entries.length, last };
}
