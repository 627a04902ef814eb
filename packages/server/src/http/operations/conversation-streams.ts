/** The streams of threads and messages, which the lists of the same paths answer as `text/event-stream`. */
import { limits, type ValidationErrors } from '@rollcall/protocol';
import type { AuthenticatedClient } from '../../auth/client-claims.ts';
import type { Caller } from '../../core/caller.ts';
import type { WatchRequest } from '../../realtime/sessions/stream-request.ts';
import type { ThreadFilter } from '../../store/ports/threads.ts';
import { readEventId } from '../../wire/conversation-events.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { answerStream, asksForStream, lastEventId, rejectPaging } from '../presence-stream.ts';
import type { Reply } from '../reply.ts';

/** The reader of a stream, and the right to read it. */
export type Watching = Pick<WatchRequest, 'viewer' | 'credentials' | 'checkCredentials'>;

export const STREAM_DESCRIPTION = `With \`Accept: text/event-stream\` the answer is a stream of server-sent events: a \`snapshot\` and then what changes. It takes no \`limit\` and \`token\`, and goes on after a \`Last-Event-ID\`.`;

export const MESSAGES_STREAM_EXAMPLE = `retry: 1811

event: snapshot
data: {"thread":{"id":"launch", "groupID":"analysts", "…":"…"},"messages":[],"pagination":{"token":null}}
id: 91b0-4

event: message
data: {"id":"81","threadID":"launch","plaintext":"In", "…":"…"}
id: 91b0-5

event: appended
data: {"id":"81","text":" June","length":7}
id: 91b0-6
`;

export const THREADS_STREAM_EXAMPLE = `retry: 1811

event: snapshot
data: {"threads":[],"pagination":{"token":null}}
id: 5c2f-0

event: thread
data: {"id":"launch","groupID":"analysts","total":1, "…":"…"}
id: 5c2f-1
`;

/** The rule of a list that can be a stream. */
export function checkStream(exchange: Exchange, errors: ValidationErrors): void {
  if (asksForStream(exchange)) rejectPaging(exchange.query as object, errors);
}

/** A host, whose token opens every group of the project. */
export const watchingHost = ({ headers }: Exchange, { authenticator }: HttpServices): Watching => {
  const { authorization } = headers;
  return { credentials: authorization, checkCredentials: () => authenticator.authenticate(authorization) };
};

/** Opens a stream for the user of a client token, who has at most `USER_STREAMS_MAX` of them. */
export async function asViewer(
  { caller, headers }: Exchange<AuthenticatedClient>,
  { authenticator, streams }: HttpServices,
  open: (watching: Watching) => Promise<Reply>,
): Promise<Reply> {
  const permit = streams.permits.take(caller);
  const { authorization } = headers;
  try {
    return await open({
      viewer: { userId: caller.userId, permit },
      credentials: authorization,
      checkCredentials: () => authenticator.authenticateClient(authorization),
    });
  } catch (error) {
    permit.release();
    throw error;
  }
}

/** The stream of the messages of the thread in the path. */
export async function streamMessages(
  exchange: Exchange<Caller>,
  { conversationStreams }: HttpServices,
  groupId: string,
  watching: Watching,
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
  watching: Watching,
): Promise<Reply> {
  const request = { caller: exchange.caller, groupId: filter.groupId, ...watching };
  const from = readEventId(lastEventId(exchange));
  return answerStream(exchange, await conversationStreams.openThreads(request, filter, exchange.list, from));
}

export const STREAM_BOUND = `A user has at most ${limits.USER_STREAMS_MAX} open streams; one more is answered 429.`;
