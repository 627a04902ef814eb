/** An HTTP server that a test scripts: for wrong, late, incomplete and missing responses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { closing } from '../../../server/test/support/closing.ts';
import {
  type Announcement,
  type AnnounceOptions,
  type ConnectionOptions,
  Rollcall,
} from '../../src/index.ts';

/** A request as the server received it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** When it was received, in milliseconds. */
  readonly at: number;
  readonly response: ServerResponse;
}

/** Responds to a request; without a response, the request stays open until the test ends. */
export type Script = (request: Received, index: number) => void;

export interface ScriptedServer {
  readonly url: string;
  /** All requests, in order. */
  readonly received: readonly Received[];
  /** Resolves when the server has received so many requests. */
  arrived(count: number): Promise<void>;
  /** Responds to a pending request that the write was done. */
  release(index: number): void;
}

export async function withScriptedServer<Result>(
  script: Script,
  use: (server: ScriptedServer) => Promise<Result>,
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
    const release = (index: number) => respond(received[index] as Received, 200, DONE);
    return await use({ url: `http://127.0.0.1:${port}`, received, arrived, release });
  } finally {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    // A client can open another connection for its next request after its connection was cut.
    const sweeping = setInterval(() => server.closeAllConnections(), 10);
    await closed;
    clearInterval(sweeping);
  }
}

/** Runs `use` with a client of a scripted server, and closes both. */
export const withScriptedClient = <Result>(
  script: Script,
  use: (rollcall: Rollcall, server: ScriptedServer) => Promise<Result>,
  options: Partial<ConnectionOptions> = {},
): Promise<Result> =>
  withScriptedServer(script, async (server) => {
    await using rollcall = closing(new Rollcall({ url: server.url, token: 't', ...options }));
    return await use(rollcall, server);
  });

/** Announces the user `ada` in the group `g`; `options` override. */
export type Announce = (options?: Partial<AnnounceOptions>) => Announcement;

/** Runs `use` with a function that announces presence on a scripted server; `defaults` include the location. */
export const withAnnouncer = (
  script: Script,
  defaults: Pick<AnnounceOptions, 'location' | 'everyMs'>,
  use: (announce: Announce, server: ScriptedServer, rollcall: Rollcall) => Promise<void>,
): Promise<void> =>
  withScriptedClient(script, (rollcall, server) => {
    const announce: Announce = (options = {}) =>
      rollcall.presence.announce({ userID: 'ada', groupID: 'g', ...defaults, ...options });
    return use(announce, server, rollcall);
  });

/** The updates received, in short: page and part of the location, after `-` for an absence. */
export const updatesOf = ({ received }: ScriptedServer): string[] =>
  received.map(({ body }) => {
    const { location, absent } = JSON.parse(body);
    return `${absent ? '-' : ''}${location.page}${location.part ?? ''}`;
  });

/** Responds with JSON. */
export function respond(
  { response }: Received,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-1', ...headers });
  response.end(JSON.stringify(body));
}

export const DONE = { success: true, message: 'done' };

/** Responds that the write was done. */
export const respondDone: Script = (request) => respond(request, 200, DONE);

export const errorBody = (error: string, message = 'no') => ({ error, message });
