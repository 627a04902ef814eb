/** The record of what writes changed: in pages, and as a stream. */
import {
  CHANGE_EVENTS,
  ChangeList,
  exactly,
  Id,
  limits,
  maybe,
  meaning,
  type Static,
  text,
  type ValidationErrors,
} from '@rollcall/protocol';
import type { Caller } from '../../core/caller.ts';
import { type ChangeFilter, isActor, readTypes } from '../../core/changes/change-filter.ts';
import { type ChangePosition, positionText, readPosition } from '../../core/changes/change-position.ts';
import { changesPage } from '../../wire/change-text.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { operationsOf, type StreamDefinition } from '../operation.ts';
import { changePageBody } from '../parameters/change-page.ts';
import type { Reply } from '../reply.ts';
import { REQUEST_ID_PATTERN } from '../request-id.ts';
import { PageQuery } from '../schemas.ts';
import { answerStream, checkStream, isStreamRequest, lastEventId, watchingHost } from '../streams.ts';

const operation = operationsOf('project', {
  name: 'changes',
  description: 'What writes changed, who made them, and in which order.',
});

const LATEST = 'latest';
const AFTER_EXPECTED = 'latest, or the ID of a change or `next` of a previous answer';
const TYPE_EXPECTED = 'types of changes with commas between them, such as user.created,member.*';
const ACTOR_EXPECTED = 'a kind of actor, such as client_token, or kind:id';

const RequestId = text({
  pattern: REQUEST_ID_PATTERN,
  description: `a string of 1 to ${limits.REQUEST_ID_MAX_LENGTH} visible ASCII characters`,
});

const ChangesQuery = exactly({
  after: meaning(
    maybe(text({ description: AFTER_EXPECTED })),
    'Where to continue: `next` of the answer before, or the `id` of a change. `latest`: no changes, and the newest position. Absent: the oldest change that is stored.',
    { 'x-example': LATEST },
  ),
  limit: PageQuery.properties.limit,
  type: meaning(
    maybe(text({ description: TYPE_EXPECTED })),
    'Only these types: several with commas between them, and `member.*` for all that begin so.',
    { 'x-example': 'member.*' },
  ),
  group: meaning(maybe(Id), 'Only changes that name this group.', { 'x-example': 'analysts' }),
  user: meaning(maybe(Id), 'Only changes that name this user.', { 'x-example': 'ada' }),
  actor: meaning(
    maybe(text({ description: ACTOR_EXPECTED })),
    'Only changes by this actor: `kind:id`, or a kind.',
    {
      'x-example': 'command_line',
    },
  ),
  request_id: meaning(maybe(RequestId), 'Only changes of requests with this `x-request-id`.', {
    'x-example': 'a8f0c1',
  }),
});
type ChangesQuery = Static<typeof ChangesQuery>;

const EXAMPLE = {
  changes: [
    {
      id: '5f0c2ad1b3e49f781-41-0',
      type: 'member.added',
      at: '2026-03-01T09:30:00.000Z',
      actor: { kind: 'project_token', id: 'acme' },
      request_id: 'a8f0c1',
      group: 'analysts',
      users: ['ada', 'grace'],
    },
  ],
  next: '5f0c2ad1b3e49f781-41-0',
  more: false,
};

const CHANGES_STREAM: StreamDefinition = {
  name: 'ChangeStreamEvent',
  events: CHANGE_EVENTS,
  example: EXAMPLE.changes.map((change) => ({ name: change.type, id: change.id, data: change })),
};

type ChangesExchange = Exchange<Caller, ChangesQuery>;

function checkFilter(exchange: Exchange, errors: ValidationErrors): void {
  checkStream(exchange, errors);
  const { after, type, actor } = exchange.query as Record<keyof ChangesQuery, unknown>;
  const isWrong = (value: unknown, isRight: (text: string) => boolean) =>
    typeof value === 'string' && !isRight(value);
  if (isWrong(after, (text) => text === LATEST || readPosition(text) !== null))
    errors.invalid.add('query parameter after', AFTER_EXPECTED);
  if (isWrong(type, (text) => readTypes(text) !== null))
    errors.invalid.add('query parameter type', TYPE_EXPECTED);
  if (isWrong(actor, isActor)) errors.invalid.add('query parameter actor', ACTOR_EXPECTED);
}

function filterOf({ type, group, user, actor, request_id: requestId }: ChangesQuery): ChangeFilter {
  const types = type === undefined ? undefined : (readTypes(type) ?? undefined);
  return { types, group, user, actor, requestId };
}

const listChanges = operation('GET /v1/changes', {
  id: 'listChanges',
  summary: 'List what changed, in order',
  description: `Every write that changes something is recorded in the commit that makes it. Values are not recorded: read the resource.

With filters a page may be empty while \`next\` moves on: one request searches 10,000 records at most.

With \`Accept: text/event-stream\` the answer is a stream of server-sent events that goes on, named after their types. It takes no \`limit\`; a \`Last-Event-ID\` resumes it, and goes before \`after\`.`,
  query: ChangesQuery,
  answer: {
    schema: ChangeList,
    description: 'A page of changes.',
    example: EXAMPLE,
    stream: CHANGES_STREAM,
  },
  statuses: {
    410: 'Changes after this position are not stored any more, or it is none of this store: read everything anew.',
  },
  rule: checkFilter,
  async handle(exchange, services) {
    const { query, caller } = exchange;
    const { changes } = services;
    if (isStreamRequest(exchange)) return streamChanges(exchange, services);
    if (query.after === LATEST)
      return changesPage([], positionText(await changes.latest(caller.project)), false);
    const after = query.after === undefined ? null : readPosition(query.after);
    const { limit = PageQuery.properties.limit.default as number } = query;
    return changePageBody(changes, caller.project, { after, limit, filter: filterOf(query) });
  },
});

async function streamChanges(exchange: ChangesExchange, services: HttpServices): Promise<Reply> {
  const { query, caller } = exchange;
  const request = { caller, ...watchingHost(exchange, services) };
  const from = await startOf(exchange, services);
  return answerStream(exchange, await services.changeStreams.open(request, from, filterOf(query)));
}

/** `Last-Event-ID` goes before `after`, which a client sends again when it reconnects. */
async function startOf(exchange: ChangesExchange, { changes }: HttpServices): Promise<ChangePosition | null> {
  const { query, caller } = exchange;
  const start = lastEventId(exchange) ?? query.after;
  if (start === undefined) return null;
  if (start === LATEST) return changes.latest(caller.project);
  // An ID of another kind of stream is one of no epoch.
  return readPosition(start) ?? { epoch: '', position: 0, index: 0 };
}

export const changeOperations = [listChanges];
