import { randomUUID } from 'node:crypto';
import {
  Appended,
  exactly,
  limits,
  Message,
  MessageAppend,
  MessageCreation,
  MessageList,
  MessageWrite,
  maybe,
  meaning,
  oneOf,
  type Static,
} from '@rollcall/protocol';
import { threadNotFound } from '../../core/conversation/conversation-errors.ts';
import { checkMessageTimes } from '../../core/conversation/conversation-times.ts';
import type { FoundMessage, MessageListRequest, MessagePage } from '../../store/ports/messages.ts';
import { withCommas } from '../../values/with-commas.ts';
import { presentMessage } from '../../wire/conversation-presenters.ts';
import { appended, created, done } from '../../wire/json-answer.ts';
import { etag, precondition, taggedReply } from '../conditions.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { type AnswerDefinition, operationsOf, type StreamDefinition } from '../operation.ts';
import { pagedBody } from '../paged-list.ts';
import type { Reply } from '../reply.ts';
import { checkStream, isStreamRequest, watchingHost } from '../streams.ts';
import { MESSAGES_STREAM, STREAM_DESCRIPTION, streamMessages } from './conversation-streams.ts';
import { createdAnswer, doneAnswer, MESSAGE_EXAMPLE, NOTHING_TO_MATCH } from './examples.ts';
import { CONVERSATION_PAGE, NO_ACTIVE_GROUP } from './threads.ts';

const operation = operationsOf('project', {
  name: 'messages',
  description: 'What users say in a thread. Messages stay when their author is deleted.',
});

const NO_AUTHOR =
  'The author does not exist, is set `deleted` or is no member of the group (of an import: does not exist), or a mentioned user does not exist.';

/** So much content is presented in one event-loop tick, in bytes. */
const PRESENTED_AT_ONCE = 256 * 1_024;

export const MessageListQuery = exactly({
  ...CONVERSATION_PAGE,
  order: meaning(
    maybe(oneOf(['ascending', 'descending'], { description: '"ascending" or "descending"' })),
    'By `createdTimestamp`, then arrival: the oldest first, or the newest.',
    { default: 'ascending', 'x-example': 'descending' },
  ),
});
export type MessageListQuery = Static<typeof MessageListQuery>;

export const MESSAGE_ANSWER = { schema: Message, description: 'The message.', example: MESSAGE_EXAMPLE };

export const messageListAnswer = (stream: StreamDefinition): AnswerDefinition => ({
  schema: MessageList,
  description: 'A page of messages.',
  example: { messages: [MESSAGE_EXAMPLE], pagination: { token: null, total: 1 } },
  stream,
});

export const messageListOf = {
  name: ({ pathId, query }: { readonly pathId: string; readonly query: MessageListQuery }) => [
    'messages',
    pathId,
    query.order ?? 'ascending',
  ],
  defaultLimit: limits.CONVERSATION_PAGE_DEFAULT_LIMIT,
};

/** The answer to a read of a page of messages, which `list` reads in parts. */
export function messageListBody(
  exchange: Exchange<unknown, MessageListQuery>,
  { pageTokens }: HttpServices,
  list: (request: MessageListRequest) => Promise<MessagePage>,
): Promise<Reply> {
  const { pathId: threadId, query } = exchange;
  const { order = 'ascending' } = query;
  let epoch: string | null = null;
  return pagedBody(
    'messages',
    exchange,
    pageTokens,
    async (request, maxBytes) => {
      const bounded = { ...request, maxBytes: Math.min(maxBytes, PRESENTED_AT_ONCE), order };
      const found = await list(bounded);
      epoch ??= found.at.epoch;
      // Another thread of this ID was made in place of the one that the answer began with.
      if (found.at.epoch !== epoch) throw threadNotFound(threadId);
      return presented(found, threadId);
    },
    limits.CONVERSATION_PAGE_MAX_BYTES,
  );
}

function presented({ messages, groupId, last, total }: MessagePage, threadId: string) {
  const items = messages.map((message) => presentMessage(message, { threadId, groupId }));
  return { items: items.join(','), count: items.length, last, total };
}

export function messageReply(exchange: Exchange<unknown>, { message, groupId }: FoundMessage): Reply {
  const { pathId: threadId } = exchange;
  return taggedReply(exchange, message.revision, () => presentMessage(message, { threadId, groupId }));
}

const CREATION_EXAMPLE = {
  id: '82',
  authorID: 'ada',
  content: [{ type: 'p', children: [{ text: 'In June, ' }, { text: 'I hope.', italic: true }] }],
};

const listMessages = operation('GET /v1/threads/:id/messages', {
  id: 'listMessages',
  summary: 'List the messages of a thread',
  description: `Deleted messages are listed too, with empty content. A page also ends with the message that makes it larger than ${withCommas(limits.CONVERSATION_PAGE_MAX_BYTES)} bytes: go by its token.\n\n${STREAM_DESCRIPTION}`,
  query: MessageListQuery,
  list: messageListOf,
  answer: messageListAnswer(MESSAGES_STREAM),
  rule: checkStream,
  async handle(exchange, services) {
    const { caller, pathId } = exchange;
    if (!isStreamRequest(exchange))
      return messageListBody(exchange, services, (request) =>
        services.messages.list(caller.project, pathId, request),
      );
    const { groupId } = await services.threads.find(caller.project, pathId);
    return streamMessages(exchange, services, groupId, watchingHost(exchange, services));
  },
});

const createMessage = operation('POST /v1/threads/:id/messages', {
  id: 'createMessage',
  summary: 'Create a message; an error when it exists',
  description:
    'Without `id` the service makes one. `createThread` makes the thread in the same step when it is missing. `createdTimestamp` makes it an import: the author need only exist, and the group may be set `deleted`.',
  body: {
    schema: MessageCreation,
    examples: {
      message: { value: CREATION_EXAMPLE },
      stream: {
        summary: 'A message that grows by appending, and its thread',
        value: {
          id: 'answer',
          authorID: 'grace',
          content: [{ type: 'markdown', children: [{ text: '' }] }],
          createThread: { groupID: 'analysts', name: 'Launch date' },
        },
      },
    },
  },
  answer: createdAnswer('The message was created.', 'created message 82', '82'),
  errors: {
    group_not_found: NO_ACTIVE_GROUP,
    user_not_found: NO_AUTHOR,
    message_already_exists: 'The thread has a message of this ID.',
  },
  statuses: NOTHING_TO_MATCH,
  rule: ({ body }, errors, { clock }) => checkMessageTimes(body, errors, clock.now()),
  async handle({ writer, pathId, body, headers }, { messages }) {
    const { id = randomUUID(), ...write } = body;
    await messages.put(writer, pathId, id, write, { ...precondition(headers), ifNoneMatch: '*' });
    return created(`created message ${id}`, id);
  },
});

const getMessage = operation('GET /v1/threads/:id/messages/:messageId', {
  id: 'getMessage',
  summary: 'Get a message',
  description: 'A deleted message is answered too, with empty content and its `deletedTimestamp`.',
  answer: MESSAGE_ANSWER,
  conditions: 'read',
  async handle(exchange, { messages }) {
    const { caller, pathId, innerId: messageId } = exchange;
    return messageReply(exchange, await messages.find(caller.project, pathId, messageId));
  },
});

const putMessage = operation('PUT /v1/threads/:id/messages/:messageId', {
  id: 'putMessage',
  summary: 'Create or update a message',
  description:
    'Only what is supplied changes; `authorID` and `content` are required to create. `deleted` hides what the message says and brings it back. `authorID` and the three times never change: they may be repeated.',
  body: {
    schema: MessageWrite,
    examples: {
      whole: {
        summary: 'Create the message, or change its content',
        value: { authorID: 'ada', content: CREATION_EXAMPLE.content },
      },
      delete: { summary: 'Hide what it says', value: { deleted: true } },
      restore: { summary: 'Bring it back', value: { deleted: false } },
    },
  },
  answer: doneAnswer('The message was created or updated; the message names which.', 'updated message 81'),
  conditions: 'put',
  creation: {
    required: { authorID: 'a value', content: 'a value' },
    exists: ({ caller, pathId, innerId }, { messages }) => messages.exists(caller.project, pathId, innerId),
  },
  errors: {
    invalid_field:
      'A field has a wrong type or value, a time is in the future, or a field that never changes has another value.',
    group_not_found: NO_ACTIVE_GROUP,
    user_not_found: NO_AUTHOR,
  },
  // Where it only creates, no stored time is repeated.
  rule: ({ body, headers }, errors, { clock }) =>
    checkMessageTimes(body, errors, precondition(headers).ifNoneMatch === '*' ? clock.now() : undefined),
  async handle({ writer, pathId, innerId: messageId, body, headers }, { messages }) {
    const outcome = await messages.put(writer, pathId, messageId, body, precondition(headers));
    return done(`${outcome} message ${messageId}`);
  },
});

const appendToMessage = operation('POST /v1/threads/:id/messages/:messageId/append', {
  id: 'appendToMessage',
  summary: 'Add a text to the end of a message',
  description:
    'For assistants that stream their words. The content is one `markdown` node. Texts of concurrent appends all arrive, each whole; an append costs the same however long the message is. With `offset` a repeated append is not applied twice.',
  body: {
    schema: MessageAppend,
    examples: { text: { value: { text: ' It is planned' } } },
  },
  answer: {
    schema: Appended,
    description: 'The text was added.',
    example: { success: true, message: 'appended to message 81', length: 20 },
    hasETag: true,
  },
  conditions: 'write',
  errors: {
    invalid_request:
      'The request does not fit the endpoint; with status 412: the text does not have `offset` code points.',
    invalid_field: 'A field has a wrong type or value, or the content would be larger than 128 KiB.',
    message_not_appendable: 'The content is not one `markdown` node, or the message is deleted.',
    group_not_found: NO_ACTIVE_GROUP,
  },
  async handle(exchange, { messages }) {
    const { writer, pathId, innerId: messageId, body, headers } = exchange;
    const condition = precondition(headers);
    const { length, revision } = await messages.append(writer, pathId, messageId, body, condition);
    exchange.setHeader('etag', etag(revision));
    return appended(`appended to message ${messageId}`, length);
  },
});

const deleteMessage = operation('DELETE /v1/threads/:id/messages/:messageId', {
  id: 'deleteMessage',
  summary: 'Delete a message for good',
  description: 'To hide it and be able to bring it back, `PUT` it with `deleted`.',
  answer: doneAnswer('The message is gone.', 'deleted message 81'),
  conditions: 'write',
  async handle({ writer, pathId, innerId: messageId, headers }, { messages }) {
    await messages.remove(writer, pathId, messageId, precondition(headers));
    return done(`deleted message ${messageId}`);
  },
});

export const messageOperations = [
  listMessages,
  createMessage,
  getMessage,
  putMessage,
  appendToMessage,
  deleteMessage,
];
