import { Deadline, type MaybeSignal } from '../http/deadline.ts';
import type { Query } from '../http/path.ts';
import type { TokenSource } from '../http/token-source.ts';
import { RollcallError } from '../rollcall-error.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import type { ReceivedEvent } from './received-event.ts';
import { onSilence } from './silence.ts';

/** What a stream needs of the client's transport. */
export interface StreamTransport {
  /** The server's URL. */
  readonly base: string;
  readonly tokens: TokenSource;
  /** A successful response, its body still unread. @throws RollcallError, or what `fetch` throws */
  open(
    request: {
      readonly method: 'GET';
      readonly path: string;
      readonly query: Query;
      readonly headers: Readonly<Record<string, string | undefined>>;
    },
    deadline: Deadline,
  ): Promise<Response>;
}

/** The stream to open. */
export interface StreamRequest {
  readonly path: string;
  readonly query: Query;
  /** The ID of the last event that was read: the stream continues after it. Empty: it begins with a snapshot. */
  readonly lastId: string;
  readonly deadAfterMs: number | undefined;
  /** End the connection. */
  readonly signals: readonly MaybeSignal[];
  /** Waits for the permit to open a stream; see {@link streamPermit}. */
  readonly permit: (signal: AbortSignal) => Promise<() => void>;
  /** Called when the server has begun to respond. */
  readonly onOpen: () => void;
}

/** What one chunk of the response completes. */
export interface StreamChunk {
  readonly messages: readonly ReceivedEvent[];
  /** The last ID of the stream; a heartbeat can have one without an event. */
  readonly lastId: string;
  /** How long the server wants clients to wait before they reconnect, in milliseconds. */
  readonly retryMs?: number | undefined;
}

const CONNECT_TIMEOUT_MS = 20_000;

/** The events of one connection. @throws RollcallError whenever it ends */
export async function* streamChunks(
  transport: StreamTransport,
  request: StreamRequest,
): AsyncGenerator<StreamChunk, void, undefined> {
  const waiting = new Deadline(Number.POSITIVE_INFINITY, request.signals);
  const release = await request.permit(waiting.signal).finally(() => waiting.end());
  const deadline = new Deadline(CONNECT_TIMEOUT_MS, request.signals);
  try {
    const response = await connect(transport, request, deadline);
    deadline.lift();
    request.onOpen();
    const parser = new EventStreamParser(request.lastId);
    for await (const bytes of chunksOf(response, deadline, request.deadAfterMs)) {
      const messages = parser.push(bytes).map(parsed);
      yield { messages, lastId: parser.lastId, retryMs: parser.retryMs };
    }
    throw new RollcallError('network', 'the server closed the connection');
  } catch (error) {
    throw deadline.explain(error);
  } finally {
    release();
    deadline.end();
    // Aborting closes the connection at once; a body that is only cancelled is read for a while.
    deadline.fail(new RollcallError('aborted', 'the stream was closed'));
  }
}

async function connect(
  transport: StreamTransport,
  { path, query, lastId }: StreamRequest,
  deadline: Deadline,
): Promise<Response> {
  const headers = { accept: 'text/event-stream', 'last-event-id': lastId || undefined };
  const response = await transport.open({ method: 'GET', path, query, headers }, deadline);
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return response;
  const { status } = response;
  // What is not JSON either is of a proxy, such as a page for maintenance: other requests are retried then too.
  const code = type.startsWith('application/json') ? 'invalid_request' : 'network';
  throw new RollcallError(code, 'the response is not a stream', { status });
}

/** The chunks of the body. */
async function* chunksOf(
  response: Response,
  deadline: Deadline,
  deadAfterMs: number | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  /** When the pending read began; null while the consumer handles an event. */
  let readSince: number | null = null;
  // Every connection ends with its deadline, also when the consumer stops without another `next()` and the client closes.
  onSilence(
    deadline.signal,
    deadAfterMs,
    () => readSince,
    (error) => deadline.fail(error),
  );
  for (;;) {
    readSince = Date.now();
    const { done, value } = await reader.read();
    readSince = null;
    if (done) return;
    yield value;
  }
}

/** An event that is not JSON ends the stream, as an error of the server does, and is requested again. */
function parsed({ type, data, id }: StreamEvent): ReceivedEvent {
  try {
    return { type, data: JSON.parse(data), id };
  } catch {
    return { type: 'error', data: { error: 'network', message: 'the event is not JSON' }, id };
  }
}
