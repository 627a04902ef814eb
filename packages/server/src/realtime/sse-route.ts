import type { Findings } from '@rollcall/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../core/service-error.ts';
import { readPositionId, retryText } from './event-text.ts';
import type { PresenceHub } from './hub.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamSession } from './stream-session.ts';
import { wantsStream } from './wants-stream.ts';

export type { StreamRequest } from './stream-request.ts';

/** How long readers wait before they come back, in milliseconds: between these, so that they do not all come at once. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 3_000;

/** What of a reading's query a stream does not take. */
const NOT_STREAMED = ['limit', 'token', 'count_only'] as const;

/** Whether the request asks for the stream in place of the reading that has the same path. */
export const asksForStream = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && wantsStream(headers.accept);

/** Refuses what a reading takes and a stream does not. */
export function refusePaging(request: FastifyRequest, findings: Findings): void {
  const query = request.query as Record<string, unknown>;
  for (const name of NOT_STREAMED) {
    if (query[name] === undefined) continue;
    findings.invalid.add(`query parameter ${name}`, 'no such parameter on a stream, which has no pages');
  }
}

/**
 * Opens a presence stream as the answer to the request; `Last-Event-ID` says where it goes on. Call it from the handler,
 * and return what it returns. Until it resolves nothing has been sent.
 * @throws ServiceError when the group does not exist, or the viewer may not watch it; StoreUnavailableError
 */
export async function openPresenceStream(
  hub: PresenceHub,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: StreamRequest,
): Promise<FastifyReply> {
  const id = request.headers['last-event-id'];
  const session = await hub.open(asked, readPositionId(typeof id === 'string' ? id : undefined));
  const { socket } = reply.raw;
  if (socket === null) {
    session.close();
    throw new ServiceError(
      'invalid_request',
      'a stream cannot follow an unfinished answer on its connection',
    );
  }
  reply.hijack();
  sendHead(reply);
  request.routeOptions.config.observe?.(request, reply);
  socket.once('close', () => session.close());
  if (socket.destroyed) session.close();
  else startOn(socket, session);
  return reply;
}

/** The body ends with the connection: what is written to the socket from here on is the same bytes for all readers. */
function sendHead(reply: FastifyReply): void {
  const { raw } = reply;
  raw.removeHeader('transfer-encoding');
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    connection: 'close',
  });
  raw.flushHeaders();
}

function startOn(socket: NonNullable<FastifyReply['raw']['socket']>, session: StreamSession): void {
  const spread = Math.random() * (RETRY_MAX_MS - RETRY_MIN_MS);
  socket.write(retryText(Math.round(RETRY_MIN_MS + spread)));
  session.start(socket);
}
