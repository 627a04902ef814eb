import { canonicalLocation, isJsonObject, PresenceList } from '@rollcall/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { chunks } from '../../core/paging.ts';
import type { PresenceFilter, PresencePage } from '../../core/presence-reading.ts';
import type { Services } from '../../services.ts';
import { listBody, listOf, pageRule } from '../paged-list.ts';
import { presentPresence } from '../present.ts';
import { answers, GroupPresenceQuery, IdInPath } from '../schemas.ts';
import type { ById, GroupWords } from './route-words.ts';

/** Who is present in a group. */
export function groupPresenceRoutes(app: FastifyInstance, services: Services, words: GroupWords): void {
  const { presenceReading, pageTokens, log } = services;
  const { noun, path, Noun, aNoun } = words;
  const schema = {
    operationId: `list${Noun}Presence`,
    summary: `Who is present in ${aNoun}, in order of ID`,
    tags: ['presence'],
    params: IdInPath,
    querystring: GroupPresenceQuery,
    response: answers(PresenceList),
  };
  const config = { rule: pageRule(pageTokens, listName) };
  app.get<ById>(`${path}/:id/presence`, { schema, config }, (request) => {
    const scope = { project: request.caller.project, groupId: request.params.id };
    const filter = filterOf(request.query as GroupPresenceQuery);
    const list = chunks(
      async (page) => asPage(await presenceReading.ofGroup(scope, noun, filter, page)),
      request.page,
    );
    const tail = ({ last }: { last: string | null }) => {
      const token = last === null ? null : pageTokens.issue(listOf(request, listName(request) ?? []), last);
      return `],"pagination":{"token":${JSON.stringify(token)}}}`;
    };
    return listBody(list, { head: '{"users":[', tail }, request, log);
  });
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
function listName({ params, query }: FastifyRequest): (string | number)[] | null {
  const { location } = query as Record<string, unknown>;
  if (location !== undefined && !isLocation(location)) return null;
  const filter = filterOf(query as GroupPresenceQuery);
  return ['presence', (params as ById['Params']).id, JSON.stringify(filter)];
}

const isLocation = (value: unknown) =>
  isJsonObject(value) && Object.values(value).every((part) => typeof part === 'string');

function asPage({ entries, last }: PresencePage) {
  return { items: entries.map(presentPresence).join(','), count: entries.length, last };
}
