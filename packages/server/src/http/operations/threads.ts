import { randomUUID } from 'node:crypto';
import {
  exactly,
  Flag,
  Id,
  limits,
  maybe,
  meaning,
  type Static,
  Thread,
  ThreadCreation,
  ThreadList,
  ThreadWrite,
} from '@rollcall/protocol';
import { checkThreadTimes } from '../../core/conversation/conversation-times.ts';
import type { ThreadPage } from '../../store/ports/threads.ts';
import { withCommas } from '../../values/with-commas.ts';
import { presentThread, presentThreads } from '../../wire/conversation-presenters.ts';
import { created, done } from '../../wire/json-answer.ts';
import { precondition, taggedReply } from '../conditions.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { operationsOf } from '../operation.ts';
import { threadFilter, threadListName } from '../parameters/thread-filter.ts';
import { limitUpTo, locationParameters, PageQuery } from '../schemas.ts';
import { checkStream, isStreamRequest, watchingHost } from '../streams.ts';
import { STREAM_DESCRIPTION, streamThreads, THREADS_STREAM } from './conversation-streams.ts';
import { createdAnswer, doneAnswer, NO_SUCH_GROUP, NOTHING_TO_MATCH, THREAD_EXAMPLE } from './examples.ts';

const operation = operationsOf('project', {
  name: 'threads',
  description: 'The conversations of a group. Deleting the group deletes them.',
});

export const NO_ACTIVE_GROUP = 'The group does not exist, or is set `deleted` and the request is no import.';

/** `limit` and `token` of lists of threads and messages. */
export const CONVERSATION_PAGE = {
  limit: meaning(maybe(limitUpTo(limits.CONVERSATION_PAGE_MAX_LIMIT)), 'How many entries at most.', {
    default: limits.CONVERSATION_PAGE_DEFAULT_LIMIT,
    'x-example': 20,
  }),
  token: PageQuery.properties.token,
};

export const ThreadListQuery = exactly({
  groupID: meaning(maybe(Id), 'Only threads of this group.', { 'x-example': 'analysts' }),
  ...locationParameters('Only threads about exactly this.'),
  resolved: meaning(maybe(Flag), 'Only threads that are resolved, or (false) that are not.', {
    'x-example': false,
  }),
  ...CONVERSATION_PAGE,
});
export type ThreadListQuery = Static<typeof ThreadListQuery>;

export function threadListBody(
  { threads, last }: ThreadPage,
  { list }: Exchange,
  { pageTokens }: HttpServices,
): string {
  return presentThreads(threads, pageTokens.next(list, last));
}

export const threadPageOf = ({ page }: Exchange) => ({
  after: page.after,
  limit: page.limit,
  maxBytes: limits.CONVERSATION_PAGE_MAX_BYTES,
});

const listThreads = operation('GET /v1/threads', {
  id: 'listThreads',
  summary: 'List threads, those with the latest activity first',
  description: `
Activity is the time of the latest message, or of the creation where there is none. A thread whose activity changes during a
walk through the pages may be missed by it; all others come exactly once. A page also ends with the thread that makes it
larger than ${withCommas(limits.CONVERSATION_PAGE_MAX_BYTES)} bytes, and after a long search for few threads: go by its token.

${STREAM_DESCRIPTION} The stream needs \`groupID\`, and collects changes for up to a second.`.trim(),
  query: ThreadListQuery,
  list: {
    name: ({ query }) => threadListName(query, query.groupID ?? null),
    defaultLimit: limits.CONVERSATION_PAGE_DEFAULT_LIMIT,
  },
  answer: {
    schema: ThreadList,
    description: 'A page of threads.',
    example: { threads: [THREAD_EXAMPLE], pagination: { token: null } },
    stream: THREADS_STREAM,
  },
  errors: { missing_field: '`groupID` is absent, for a stream.', group_not_found: NO_SUCH_GROUP },
  rule(exchange, errors) {
    checkStream(exchange, errors);
    if (isStreamRequest(exchange) && exchange.query.groupID === undefined)
      errors.missing.add('query parameter groupID', 'the ID of a group, for a stream');
  },
  async handle(exchange, services) {
    const { caller, query } = exchange;
    const { groupID: groupId = null } = query;
    const filter = threadFilter(query, groupId);
    if (isStreamRequest(exchange) && groupId !== null)
      return streamThreads(exchange, services, { ...filter, groupId }, watchingHost(exchange, services));
    const request = { ...threadPageOf(exchange), filter, viewer: null };
    return threadListBody(await services.threads.list(caller.project, request), exchange, services);
  },
});

const createThread = operation('POST /v1/threads', {
  id: 'createThread',
  summary: 'Create a thread; an error when it exists',
  description:
    'Without `id` the service makes one. `createdTimestamp` makes it an import, which works in a group set `deleted` too.',
  body: {
    schema: ThreadCreation,
    examples: {
      thread: {
        value: {
          id: 'plans',
          groupID: 'analysts',
          name: 'Plans',
          location: { page: 'q3-report' },
        },
      },
    },
  },
  answer: createdAnswer('The thread was created.', 'created thread plans', 'plans'),
  errors: {
    group_not_found: NO_ACTIVE_GROUP,
    thread_already_exists: 'A thread of this ID exists in the project.',
  },
  statuses: NOTHING_TO_MATCH,
  rule: ({ body }, errors, { clock }) => checkThreadTimes(body, errors, clock.now()),
  async handle({ writer, body, headers }, { threads }) {
    const { id = randomUUID(), ...write } = body;
    await threads.put(writer, id, write, { ...precondition(headers), ifNoneMatch: '*' });
    return created(`created thread ${id}`, id);
  },
});

const getThread = operation('GET /v1/threads/:id', {
  id: 'getThread',
  summary: 'Get a thread',
  description: 'Its `ETag` changes with everything that is shown, also with a new message.',
  answer: { schema: Thread, description: 'The thread.', example: THREAD_EXAMPLE },
  conditions: 'read',
  async handle(exchange, { threads }) {
    const thread = await threads.find(exchange.caller.project, exchange.pathId);
    return taggedReply(exchange, thread.revision, () => presentThread(thread));
  },
});

const putThread = operation('PUT /v1/threads/:id', {
  id: 'putThread',
  summary: 'Create or update a thread',
  description:
    'Only what is supplied changes; `groupID` and `name` are required to create. `groupID` and the two times never change: they may be repeated.',
  body: {
    schema: ThreadWrite,
    examples: {
      whole: {
        summary: 'Create the thread, or change its name',
        value: { groupID: 'analysts', name: 'Launch date' },
      },
      resolve: { summary: 'The conversation is over', value: { resolved: true } },
      clear: { summary: 'The thread is about no location any more', value: { location: null } },
    },
  },
  answer: doneAnswer('The thread was created or updated; the message names which.', 'created thread launch'),
  conditions: 'put',
  creation: {
    required: { groupID: 'a value', name: 'a value' },
    exists: ({ caller, pathId }, { threads }) => threads.exists(caller.project, pathId),
  },
  errors: {
    invalid_field:
      'A field has a wrong type or value, a time is in the future, or a field that never changes has another value.',
    group_not_found: NO_ACTIVE_GROUP,
  },
  // Where it only creates, no stored time is repeated.
  rule: ({ body, headers }, errors, { clock }) =>
    checkThreadTimes(body, errors, precondition(headers).ifNoneMatch === '*' ? clock.now() : undefined),
  async handle({ writer, pathId, body, headers }, { threads }) {
    const outcome = await threads.put(writer, pathId, body, precondition(headers));
    return done(`${outcome} thread ${pathId}`);
  },
});

const deleteThread = operation('DELETE /v1/threads/:id', {
  id: 'deleteThread',
  summary: 'Delete a thread for good, with its messages',
  description: 'There is no way back. To close a thread and retain it, `PUT` it with `resolved`.',
  answer: doneAnswer('The thread is gone.', 'deleted thread launch'),
  conditions: 'write',
  async handle({ writer, pathId, headers }, { threads }) {
    await threads.remove(writer, pathId, precondition(headers));
    return done(`deleted thread ${pathId}`);
  },
});

export const threadOperations = [listThreads, createThread, getThread, putThread, deleteThread];
