/** {@link oneServer} for tests of tokens and time: whatever it signs, it signs at the time of the server's clock. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { type Answer, send } from './http-client.ts';
import { type Claims, jwt, seconds } from './jwt.ts';
import { oneServer } from './one-server.ts';
import { Project } from './project-client.ts';
import type { TestServer, TestServerOptions } from './server.ts';

/** Usable inside tests only, because the server starts before the first; in hooks, `project()` waits for it. */
export interface ClockedServer {
  readonly raw: TestServer;
  /** A new project of the test customer, with a token of the clock's time. */
  project(): Promise<Project>;
  /** Whole seconds since the epoch, by the server's clock. */
  now(): number;
  /** A customer token of the clock's time; `claims` are laid over it. */
  customerToken(claims?: Claims): string;
  /** Sends with this bearer token, or with null without an Authorization header. A body goes as JSON. */
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
  const projects: Project[] = [];
  after(() => {
    for (const project of projects) project.close();
  });
  const server = oneServer(options);

  const now = () => seconds(clock.now());
  const bare: ClockedServer['bare'] = (method, path, headers = {}, body) =>
    send(server.running.url, method, path, { headers, ...(body === undefined ? {} : { body }) });
  const call: ClockedServer['call'] = (token, method, path, body) => {
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
    if (body === undefined) return bare(method, path, authorization);
    return bare(method, path, { ...authorization, 'content-type': 'application/json' }, JSON.stringify(body));
  };
  const customerToken: ClockedServer['customerToken'] = (claims = {}) => {
    const { customerId, customerSecret } = server.running;
    return jwt({ customer_id: customerId, iat: now(), ...claims }, customerSecret);
  };
  const project = async () => {
    await server.started;
    const answer = await call(customerToken(), 'POST', '/v1/projects', { name: 'Test' });
    assert.equal(answer.status, 201, answer.text);
    const { id, secret } = answer.json<{ id: string; secret: string }>();
    const made = new Project(server.running.url, id, secret, jwt({ project_id: id, iat: now() }, secret));
    projects.push(made);
    return made;
  };
  return {
    get raw() {
      return server.running;
    },
    project,
    now,
    customerToken,
    call,
    bare,
  };
}
