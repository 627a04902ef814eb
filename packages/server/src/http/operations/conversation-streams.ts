/** The streams of threads and messages, which the lists of the same paths answer as `text/event-stream`. */
import {
  CLIENT_MESSAGE_EVENTS,
  CLIENT_THREAD_EVENTS,
  MESSAGE_EVENTS,
  THREAD_EVENTS,
} from '@rollcall/protocol';
import type { Caller } from '../../core/caller.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import { readEventId } from '../../wire/conversation-events.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import type { StreamDefinition } from '../operation.ts';
import type { Reply } from '../reply.ts';
import { answerStream, lastEventId, type WatchAccess } from '../streams.ts';
import { CLIENT_THREAD_EXAMPLE, MESSAGE_EXAMPLE, THREAD_EXAMPLE } from './examples.ts';

export const STREAM_DESCRIPTION = `With \`Accept: text/event-stream\` the answer is a stream of server-sent events: a \`snapshot\` and then what changes. It takes no \`limit\`, \`token\` and \`order\`, and goes on after a \`Last-Event-ID\`.`;

const messagesExample = (thread: object): StreamDefinition['example'] => [
  { name: 'snapshot', id: '91b0-4', data: { thread, messages: [], pagination: { token: null } } },
  { name: 'message', id: '91b0-5', data: MESSAGE_EXAMPLE },
  { name: 'appended', id: '91b0-6', data: { id: '82', text: ' June', length: 7 } },
];
const threadsExample = (thread: object): StreamDefinition['example'] => [
  { name: 'snapshot', id: '5c2f-0', data: { threads: [], pagination: { token: null } } },
  { name: 'thread', id: '5c2f-1', data: thread },
  { name: 'removed', id: '5c2f-2', data: { id: 'launch' } },
];

export const MESSAGES_STREAM: StreamDefinition = {
  name: 'MessageStreamEvent',
  events: MESSAGE_EVENTS,
  example: messagesExample(THREAD_EXAMPLE),
};
export const CLIENT_MESSAGES_STREAM: StreamDefinition = {
  name: 'ClientMessageStreamEvent',
  events: CLIENT_MESSAGE_EVENTS,
  example: messagesExample(CLIENT_THREAD_EXAMPLE),
};
export const THREADS_STREAM: StreamDefinition = {
  name: 'ThreadStreamEvent',
  events: THREAD_EVENTS,
  example: threadsExample(THREAD_EXAMPLE),
};
export const CLIENT_THREADS_STREAM: StreamDefinition = {
  name: 'ClientThreadStreamEvent',
  events: CLIENT_THREAD_EVENTS,
  example: threadsExample(CLIENT_THREAD_EXAMPLE),
};

export async function streamMessages(
  exchange: Exchange<Caller>,
  { conversationStreams }: HttpServices,
  groupId: string,
  watching: WatchAccess,
): Promise<Reply> {
  const request = { caller: exchange.caller, groupId, ...watching };
  const from = readEventId(lastEventId(exchange));
  return answerStream(exchange, await conversationStreams.openMessages(request, exchange.pathId, from));
}

/** The stream of the threads of a group that pass the filter. */
export async function streamThreads(
  exchange: Exchange<Caller>,
  { conversationStreams }: HttpServices,
  filter: ThreadFilter & { readonly groupId: string },
  watching: WatchAccess,
): Promise<Reply> {
  const request = { caller: exchange.caller, groupId: filter.groupId, ...watching };
  const from = readEventId(lastEventId(exchange));
  return answerStream(exchange, await conversationStreams.openThreads(request, filter, exchange.list, from));
}
