/** A server of a test's own, for what the real one does not do on demand: answer wrongly, late, by halves, or not at all. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A request as it came. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** When it came, in milliseconds. */
  readonly at: number;
  readonly response: ServerResponse;
}

/** Answers a request; what it does not answer stays open until the test is over. */
export type Script = (request: Received, index: number) => void;

export interface StandIn {
  readonly url: string;
  /** All that came, in order. */
  readonly received: readonly Received[];
  /** Resolves when so many requests have come. */
  arrived(count: number): Promise<void>;
}

export async function withStandIn<Result>(
  script: Script,
  use: (standIn: StandIn) => Promise<Result>,
): Promise<Result> {
  const received: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming;
    const body = await text(incoming).catch(() => '');
    const request = { method, url, headers, body, at: performance.now(), response };
    received.push(request);
    for (const { count, resolve } of waiting) if (received.length >= count) resolve();
    script(request, received.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const arrived = (count: number) => {
    if (received.length >= count) return Promise.resolve();
    return new Promise<void>((resolve) => waiting.push({ count, resolve }));
  };
  try {
    return await use({ url: `http://127.0.0.1:${port}`, received, arrived });
  } finally {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    // A client may connect once more when its connection is cut, for a next request.
    const sweeping = setInterval(() => server.closeAllConnections(), 10);
    await closed;
    clearInterval(sweeping);
  }
}

/** Answers JSON. */
export function answer(
  { response }: Received,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-1', ...headers });
  response.end(JSON.stringify(body));
}

export const DONE = { success: true, message: 'done' };

export const refusal = (error: string, message = 'no') => ({ error, message });

/** Waits until something holds that nothing tells of. @throws AssertionError after ten seconds */
export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `${what}: not within ten seconds`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
