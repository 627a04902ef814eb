/** Many readers of event streams and callers of the server in one process, so that one clock times both. */
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';

const SNAPSHOT = Buffer.from('event: snapshot');
const EVENT_END = '\n\n';
/** The accept queue of the system takes so many connections at once. */
const OPENED_AT_ONCE = 100;

export interface Stream {
  readonly port: number;
  readonly token: string;
  readonly path: string;
}

/**
 * Opens a stream; resolves to its connection when its snapshot is there. `take` gets the bytes of whole events, those of the
 * snapshot and the time among them. @throws Error when the stream ends
 */
export function openStream(
  { port, token, path }: Stream,
  take: (events: Buffer, now: number) => void,
): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: '127.0.0.1', port });
  // An event can be cut in two.
  let rest: Buffer = Buffer.alloc(0);
  socket.once('error', reject);
  socket.once('end', () => {
    throw new Error('a stream was cut off');
  });
  socket.on('data', (chunk: Buffer) => {
    const now = performance.now();
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(EVENT_END) + EVENT_END.length;
    rest = end < EVENT_END.length ? bytes : bytes.subarray(end);
    if (end < EVENT_END.length) return;
    const events = bytes.subarray(0, end);
    take(events, now);
    if (events.includes(SNAPSHOT)) resolve(socket);
  });
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return promise;
}

/** Opens streams; `taker` makes what each of them gives its events to. */
export async function openStreams(
  stream: Stream,
  count: number,
  taker: (index: number) => (events: Buffer, now: number) => void,
): Promise<void> {
  for (let first = 0; first < count; first += OPENED_AT_ONCE) {
    const length = Math.min(OPENED_AT_ONCE, count - first);
    await Promise.all(Array.from({ length }, (_, offset) => openStream(stream, taker(first + offset))));
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** Sends a request with a JSON body. @throws Error when the answer is no success */
export function sendJson({ port, token, path }: Stream, method: 'PUT' | 'POST', body: object): Promise<void> {
  const text = JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, method, path, headers }, (answer) => {
      answer.resume();
      const isSuccess = answer.statusCode !== undefined && answer.statusCode < 300;
      answer.once('end', () => (isSuccess ? resolve() : reject(new Error(`${answer.statusCode}`))));
    });
    sent.once('error', reject);
    sent.end(text);
  });
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `step` at a rate, however long its calls take; resolves when all of them have. */
export async function atRate(
  count: number,
  perSecond: number,
  step: (index: number) => Promise<void>,
): Promise<void> {
  const begin = performance.now();
  const running: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    const due = begin + (index * 1_000) / perSecond;
    if (due > performance.now()) await pause(due - performance.now());
    running.push(step(index));
  }
  await Promise.all(running);
}

/** Waits until `isDone`, for so long at most. */
export async function waitUntil(isDone: () => boolean, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!isDone() && performance.now() < end) await pause(20);
}
