import type { ServerResponse } from 'node:http';
import { limits, type ValidationErrors } from '@rollcall/protocol';
import type { AuthenticatedClient } from '../auth/client-claims.ts';
import { ServiceError } from '../core/service-error.ts';
import type { Session } from '../realtime/sessions/session.ts';
import { SseSink } from '../realtime/sessions/sse-sink.ts';
import type { WatchRequest } from '../realtime/sessions/stream-request.ts';
import { retryText } from '../wire/event-text.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServices } from './http-services.ts';
import { callersWords } from './older-names.ts';
import { wantsStream } from './preferred-type.ts';
import { type Reply, TAKEN_OVER } from './reply.ts';

/** How long clients wait before they reconnect, in milliseconds: spread, so that they do not all come at once. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 3_000;

/** The query parameters of a reading that a stream does not take. */
export const NOT_STREAMED: readonly string[] = ['limit', 'token', 'count_only', 'order'];

/** A sentence of the descriptions of client streams. */
export const STREAM_BOUND = `A user has at most ${limits.USER_STREAMS_MAX} open streams; one more is answered 429.`;

/** Whether the request is for the stream, and not for the reading of the same path. */
export const isStreamRequest = ({ request: { method, headers } }: Exchange): boolean =>
  method === 'GET' && wantsStream(headers.accept);

/** The rule of a reading that can be a stream: a stream has no pages. */
export function checkStream(exchange: Exchange, errors: ValidationErrors): void {
  if (!isStreamRequest(exchange)) return;
  const query = exchange.query as Readonly<Record<string, unknown>>;
  for (const name of NOT_STREAMED) {
    if (query[name] === undefined) continue;
    errors.invalid.add(`query parameter ${name}`, 'no such parameter on a stream, which has no pages');
  }
}

/** The reader of a stream, and the right to read it. */
export type WatchAccess = Pick<WatchRequest, 'viewer' | 'credentials' | 'checkCredentials'>;

/** A host, whose token opens every group of the project. */
export const watchingHost = ({ headers }: Exchange, { authenticator }: HttpServices): WatchAccess => {
  const { authorization } = headers;
  return { credentials: authorization, checkCredentials: () => authenticator.verify(authorization) };
};

/** Opens a stream for the user of a client token, who has at most `USER_STREAMS_MAX` of them. */
export async function asViewer(
  { caller, headers }: Exchange<AuthenticatedClient>,
  { authenticator, streams }: HttpServices,
  open: (watching: WatchAccess) => Promise<Reply>,
): Promise<Reply> {
  const permit = streams.permits.take(caller);
  const { authorization } = headers;
  try {
    return await open({
      viewer: { userId: caller.userId, permit },
      credentials: authorization,
      checkCredentials: () => authenticator.verifyClient(authorization),
    });
  } catch (error) {
    permit.release();
    throw error;
  }
}

/** Where the client's last connection to a stream ended, as the client reports it. An empty ID is none in the HTML standard. */
export function lastEventId({ headers }: Exchange): string | undefined {
  const id = headers['last-event-id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/**
 * Answers with the stream of an open session, which ends in the caller's words. @throws ServiceError when the connection cannot
 * take one
 */
export function answerStream(exchange: Exchange, session: Session): typeof TAKEN_OVER {
  const { socket } = exchange.response;
  if (socket === null) {
    session.close();
    throw new ServiceError(
      'invalid_request',
      'a stream cannot follow an unfinished answer on its connection',
    );
  }
  sendHead(exchange);
  // A request behind the stream would not be answered.
  exchange.response.shouldKeepAlive = false;
  socket.on('close', () => session.close());
  if (socket.destroyed) session.close();
  else startOn(socket, session, new SseSink(socket, callersWords(exchange)));
  return TAKEN_OVER;
}

/** The body ends with the connection, so that all readers of a stream are sent the same bytes. */
function sendHead(exchange: Exchange): void {
  const { response } = exchange;
  response.removeHeader('transfer-encoding');
  exchange.contentType = 'text/event-stream; charset=utf-8';
  exchange.setHeaders({ 'x-accel-buffering': 'no', connection: 'close' });
  exchange.writeHead(200, null);
  response.flushHeaders();
}

function startOn(socket: NonNullable<ServerResponse['socket']>, session: Session, sink: SseSink): void {
  const spread = Math.random() * (RETRY_MAX_MS - RETRY_MIN_MS);
  socket.write(retryText(Math.round(RETRY_MIN_MS + spread)));
  session.start(sink);
}
