/** {@link oneServer} for tests of tokens and time, with plain requests. */
import { systemClock } from '../../src/core/clock.ts';
import { type Answer, send } from './http-client.ts';
import { type Claims, seconds } from './jwt.ts';
import { oneServer, type Projects } from './one-server.ts';
import type { TestServer, TestServerOptions } from './server.ts';

/** Usable within tests only, because the server starts before the first; in hooks, `project()` waits for it. */
export interface ClockedServer extends Projects {
  readonly raw: TestServer;
  /** Whole seconds since the epoch, by the server's clock. */
  now(): number;
  /** A customer token of the clock's time, with these claims in addition. */
  customerToken(claims?: Claims): string;
  /** Sends with this bearer token, or with null without an Authorization header. A body is sent as JSON. */
  call(token: string | null, method: string, path: string, body?: unknown): Promise<Answer>;
  /** Sends exactly these headers and this body. */
  bare(
    method: string,
    path: string,
    headers?: Record<string, string>,
    body?: string | Uint8Array,
  ): Promise<Answer>;
}

/** Starts a server before the tests of the calling file, and stops it after them. */
export function clockedServer(options: TestServerOptions = {}): ClockedServer {
  const clock = options.clock ?? systemClock;
  const server = oneServer(options);
  const bare: ClockedServer['bare'] = (method, path, headers = {}, body) =>
    send(server.running.url, method, path, { headers, ...(body === undefined ? {} : { body }) });
  return {
    get raw() {
      return server.running;
    },
    project: server.project,
    projectWithUsers: server.projectWithUsers,
    projectWithGroup: server.projectWithGroup,
    now: () => seconds(clock.now()),
    customerToken: (claims) => server.customerToken(claims),
    call(token, method, path, body) {
      const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
      if (body === undefined) return bare(method, path, authorization);
      const headers = { ...authorization, 'content-type': 'application/json' };
      return bare(method, path, headers, JSON.stringify(body));
    },
    bare,
  };
}
