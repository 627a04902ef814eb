/** Threads and messages as a browser reads and writes them with a client token. */
import { randomUUID } from 'node:crypto';
import {
  type ClientCreateThread,
  ClientMessageCreation,
  ClientMessageWrite,
  ClientThread,
  ClientThreadCreation,
  ClientThreadList,
  ClientThreadWrite,
  limits,
  ThreadSeen,
  type ValidationErrors,
} from '@rollcall/protocol';
import type { AuthenticatedClient } from '../../auth/client-claims.ts';
import { presentThread } from '../../wire/conversation-presenters.ts';
import { created, done } from '../../wire/json-answer.ts';
import { etag, precondition } from '../conditions.ts';
import type { Exchange } from '../exchange.ts';
import { operationsOf } from '../operation.ts';
import { threadFilter, threadListName } from '../parameters/thread-filter.ts';
import { asViewer, checkStream, isStreamRequest, STREAM_BOUND } from '../streams.ts';
import { CLIENT_TAG } from './client.ts';
import {
  CLIENT_MESSAGES_STREAM,
  CLIENT_THREADS_STREAM,
  STREAM_DESCRIPTION,
  streamMessages,
  streamThreads,
} from './conversation-streams.ts';
import { CLIENT_THREAD_EXAMPLE, createdAnswer, doneAnswer, NOTHING_TO_MATCH } from './examples.ts';
import {
  MESSAGE_ANSWER,
  MessageListQuery,
  messageListAnswer,
  messageListBody,
  messageListOf,
  messageReply,
} from './messages.ts';
import { ThreadListQuery, threadListBody, threadPageOf } from './threads.ts';

const NO_THREAD = "The thread does not exist, or its group is not one of the user's.";
const NO_MESSAGE = 'The thread has no such message.';
const ONLY_CREATES = 'The request has `If-None-Match: *`.';
const NAMED = 'an ID, because the token names no group';

const operation = operationsOf('client', CLIENT_TAG);

type ClientExchange<Query = unknown, Body = unknown> = Exchange<AuthenticatedClient, Query, Body>;

/** The group may be left out where the token names it. */
function requireGroup(
  named: { groupID?: unknown },
  { caller }: ClientExchange,
  path: string,
  errors: ValidationErrors,
) {
  if (!Object.hasOwn(named, 'groupID') && caller.group === null) errors.missing.add(path, NAMED);
}

const listClientThreads = operation('GET /v1/client/threads', {
  id: 'listClientThreads',
  summary: "List the threads of one of the user's groups",
  description: `The same as \`GET /v1/threads\`, with \`unread\`.\n\n${STREAM_DESCRIPTION} ${STREAM_BOUND}`,
  query: ThreadListQuery,
  list: {
    name: ({ query, caller }) => threadListName(query, query.groupID ?? caller.group),
    defaultLimit: limits.CONVERSATION_PAGE_DEFAULT_LIMIT,
  },
  answer: {
    schema: ClientThreadList,
    description: 'A page of threads.',
    example: { threads: [CLIENT_THREAD_EXAMPLE], pagination: { token: null } },
    stream: CLIENT_THREADS_STREAM,
  },
  errors: {
    missing_field: '`groupID` is absent, and the token names no group.',
    thread_not_found: "The group is not one of the user's.",
  },
  rule(exchange, errors) {
    checkStream(exchange, errors);
    requireGroup(exchange.query, exchange, 'query parameter groupID', errors);
  },
  async handle(exchange, services) {
    const { writer, query } = exchange;
    if (isStreamRequest(exchange)) {
      return asViewer(exchange, services, async (watching) => {
        const groupId = await services.conversation.enterGroup(writer, query.groupID ?? null);
        return streamThreads(exchange, services, { ...threadFilter(query, groupId), groupId }, watching);
      });
    }
    const page = await services.conversation.listThreads(writer, query.groupID ?? null, (groupId) => ({
      ...threadPageOf(exchange),
      filter: threadFilter(query, groupId),
      viewer: writer.userId,
    }));
    return threadListBody(page, exchange, services);
  },
});

const createClientThread = operation('POST /v1/client/threads', {
  id: 'createClientThread',
  summary: "Create a thread in one of the user's groups",
  description:
    'Without `id` the service makes one. `groupID` may be left out where the token names the group.',
  body: {
    schema: ClientThreadCreation,
    examples: { thread: { value: { id: 'plans', groupID: 'analysts', name: 'Plans' } } },
  },
  answer: createdAnswer('The thread was created.', 'created thread plans', 'plans'),
  errors: {
    missing_field: '`name` is absent, or the group is named neither in the request nor by the token.',
    thread_not_found: "The group is not one of the user's.",
    thread_already_exists: 'A thread of this ID exists in the project.',
  },
  statuses: NOTHING_TO_MATCH,
  rule: (exchange, errors) => requireGroup(exchange.body, exchange, 'groupID', errors),
  async handle(exchange, { conversation }) {
    const { id = randomUUID(), ...write } = exchange.body;
    await conversation.createThread(exchange.writer, id, write, precondition(exchange.headers));
    return created(`created thread ${id}`, id);
  },
});

const getClientThread = operation('GET /v1/client/threads/:id', {
  id: 'getClientThread',
  summary: "Get a thread of one of the user's groups",
  description:
    '`unread` counts the messages of others that the user has not seen. The `ETag` is for `If-Match`: the answer is never 304.',
  answer: { schema: ClientThread, description: 'The thread, with `unread`.', example: CLIENT_THREAD_EXAMPLE },
  conditions: 'tagged',
  errors: { thread_not_found: NO_THREAD },
  async handle(exchange, { conversation }) {
    const thread = await conversation.findThread(exchange.writer, exchange.pathId);
    // Users with one revision have different `unread`. A browser's cache revalidates by itself: a 304 would show a user
    // the `unread` of the one who was logged in before.
    exchange.setHeader('etag', etag(thread.revision));
    return presentThread(thread);
  },
});

const putClientThread = operation('PUT /v1/client/threads/:id', {
  id: 'putClientThread',
  summary: 'Resolve a thread, or open it again',
  description: '`resolved` is all that a client token may change of a thread.',
  body: { schema: ClientThreadWrite, examples: { resolve: { value: { resolved: true } } } },
  answer: doneAnswer('The thread was updated.', 'updated thread launch'),
  conditions: 'write',
  errors: { thread_not_found: NO_THREAD, thread_already_exists: ONLY_CREATES },
  async handle(exchange, { conversation }) {
    const { pathId, body, headers } = exchange;
    await conversation.resolveThread(exchange.writer, pathId, body.resolved, precondition(headers));
    return done(`updated thread ${pathId}`);
  },
});

const markClientThreadSeen = operation('PUT /v1/client/threads/:id/seen', {
  id: 'markClientThreadSeen',
  summary: 'Mark a thread as seen, up to a message or up to now',
  description:
    'Without a body the thread is seen up to now. What was seen stays seen: an older message changes nothing.',
  body: {
    schema: ThreadSeen,
    isOptional: true,
    examples: { now: { value: {} }, message: { value: { messageID: '81' } } },
  },
  answer: doneAnswer('It is seen.', 'marked thread launch as seen'),
  conditions: 'write',
  errors: { thread_not_found: NO_THREAD, message_not_found: NO_MESSAGE },
  async handle(exchange, { conversation }) {
    const { writer, pathId, body, headers } = exchange;
    await conversation.markSeen(writer, pathId, body.messageID ?? null, precondition(headers));
    return done(`marked thread ${pathId} as seen`);
  },
});

const listClientMessages = operation('GET /v1/client/threads/:id/messages', {
  id: 'listClientMessages',
  summary: 'List the messages of a thread',
  description: `The same as \`GET /v1/threads/{thread_id}/messages\`.\n\n${STREAM_DESCRIPTION} ${STREAM_BOUND}`,
  query: MessageListQuery,
  list: messageListOf,
  answer: messageListAnswer(CLIENT_MESSAGES_STREAM),
  errors: { thread_not_found: NO_THREAD },
  rule: checkStream,
  async handle(exchange, services) {
    const { writer, pathId } = exchange;
    const { conversation } = services;
    if (!isStreamRequest(exchange))
      return messageListBody(exchange, services, (request) =>
        conversation.listMessages(writer, pathId, request),
      );
    const { groupId } = await conversation.findThread(writer, pathId);
    return asViewer(exchange, services, (watching) => streamMessages(exchange, services, groupId, watching));
  },
});

/** The thread to make is in a group that the request or the token names. */
function requireGroupOfThread(
  exchange: ClientExchange<unknown, ClientMessageCreation>,
  errors: ValidationErrors,
): void {
  const { createThread } = exchange.body as { createThread?: unknown };
  if (typeof createThread === 'object' && createThread !== null)
    requireGroup(createThread as ClientCreateThread, exchange, 'createThread.groupID', errors);
}

const createClientMessage = operation('POST /v1/client/threads/:id/messages', {
  id: 'createClientMessage',
  summary: "Write a message as the token's user",
  description:
    'The user has seen the thread up to it. `createThread` makes the thread in the same step when it is missing.',
  body: {
    schema: ClientMessageCreation,
    examples: {
      message: { value: { id: '82', content: [{ type: 'p', children: [{ text: 'In May?' }] }] } },
    },
  },
  answer: createdAnswer('The message was created.', 'created message 82', '82'),
  errors: {
    thread_not_found: NO_THREAD,
    user_not_found: 'The user does not exist or is set `deleted`, or a mentioned user does not exist.',
    message_already_exists: 'The thread has a message of this ID.',
  },
  statuses: NOTHING_TO_MATCH,
  rule: requireGroupOfThread,
  async handle(exchange, { conversation }) {
    const { id = randomUUID(), ...write } = exchange.body;
    const { writer, pathId, headers } = exchange;
    await conversation.createMessage(writer, pathId, id, write, precondition(headers));
    return created(`created message ${id}`, id);
  },
});

const getClientMessage = operation('GET /v1/client/threads/:id/messages/:messageId', {
  id: 'getClientMessage',
  summary: 'Get a message',
  description: 'Messages of every author can be read. A deleted one has empty content.',
  answer: MESSAGE_ANSWER,
  conditions: 'read',
  errors: { thread_not_found: NO_THREAD },
  async handle(exchange, { conversation }) {
    const { writer, pathId, innerId: messageId } = exchange;
    return messageReply(exchange, await conversation.findMessage(writer, pathId, messageId));
  },
});

const putClientMessage = operation('PUT /v1/client/threads/:id/messages/:messageId', {
  id: 'putClientMessage',
  summary: "Change, delete or bring back one of the user's own messages",
  description:
    'Only what is supplied changes. `deleted: false` brings a deleted message back with its content.',
  body: {
    schema: ClientMessageWrite,
    examples: {
      edit: { value: { content: [{ type: 'p', children: [{ text: 'In May.' }] }] } },
      delete: { value: { deleted: true } },
    },
  },
  answer: doneAnswer('The message was updated.', 'updated message 82'),
  conditions: 'write',
  errors: {
    thread_not_found: NO_THREAD,
    message_not_found: "The thread has no such message, or it is another user's.",
    user_not_found: 'The user does not exist or is set `deleted`, or a mentioned user does not exist.',
    message_already_exists: ONLY_CREATES,
  },
  async handle(exchange, { conversation }) {
    const { pathId, innerId: messageId, body, headers } = exchange;
    await conversation.changeMessage(exchange.writer, pathId, messageId, body, precondition(headers));
    return done(`updated message ${messageId}`);
  },
});

export const clientConversationOperations = [
  listClientThreads,
  createClientThread,
  getClientThread,
  putClientThread,
  markClientThreadSeen,
  listClientMessages,
  createClientMessage,
  getClientMessage,
  putClientMessage,
];
