/** A receiver of webhooks on this machine, which records what it gets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RecordedChange, WebhookDelivery } from '@rollcall/protocol';
import { Webhook } from 'standardwebhooks';
import { http } from '../../src/values/node-http.ts';
import { expectOk } from './expect.ts';
import type { Project } from './project-client.ts';
import { Arrivals } from './waiting.ts';

/** The setting with which servers send to it. */
export const ALLOWED = '127.0.0.0/8';

export interface Received {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly path: string;
  readonly text: string;
  readonly body: WebhookDelivery;
}

/** Answers one request; what it does not answer hangs. */
export type Answering = (response: ServerResponse, received: Received) => void;

const acknowledge: Answering = (response) => response.writeHead(204).end();

export class WebhookReceiver {
  readonly received: Received[] = [];
  answer: Answering = acknowledge;
  readonly #server: Server;
  readonly #arrivals = new Arrivals();

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => void this.#take(request, response));
  }

  static async open(): Promise<WebhookReceiver> {
    const server = http.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new WebhookReceiver(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** Acknowledges from now on. */
  acknowledge(): void {
    this.answer = acknowledge;
  }

  /** Answers with this status from now on. */
  fail(status: number, headers: Record<string, string> = {}, body = ''): void {
    this.answer = (response) => response.writeHead(status, headers).end(body);
  }

  /** Resolves when so many requests have come. */
  async requests(count: number): Promise<readonly Received[]> {
    await this.#arrivals.until(
      `${count} requests`,
      () => this.received.length >= count,
      () => JSON.stringify(this.received.map(({ body }) => body.changes.map(({ type }) => type))),
    );
    return this.received;
  }

  /** All changes, each delivery counted once, when there are so many. */
  async changes(count: number): Promise<RecordedChange[]> {
    await this.#arrivals.until(
      `${count} changes`,
      () => this.#changes().length >= count,
      () => JSON.stringify(this.#changes().map(({ type }) => type)),
    );
    return this.#changes();
  }

  #changes(): RecordedChange[] {
    const deliveries = new Map(this.received.map(({ id, body }) => [id, body.changes]));
    return [...deliveries.values()].flat();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.setEncoding('utf8');
    const text = (await request.toArray()).join('');
    const { headers, url: path = '' } = request;
    const received = { id: String(headers['webhook-id']), headers, path, text, body: JSON.parse(text) };
    this.received.push(received);
    this.answer(response, received);
    this.#arrivals.notify();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Verifies a request with the library of Standard Webhooks, which knows the time of this machine only. */
export function verify({ text, headers }: Received, secret: string): void {
  assert.ok(new Webhook(secret).verify(text, headers as Record<string, string>));
}

/** Creates a webhook, and returns its secret. */
export async function createWebhook(
  project: Project,
  id: string,
  url: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const answer = await project.put(`/v1/webhooks/${id}`, { url, ...more });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<{ secret: string }>().secret;
}

export interface WebhookState {
  readonly status: string;
  readonly behind: number;
  readonly types: readonly string[] | null;
  readonly last_attempt: { readonly status: number | null; readonly error: string | null } | null;
}

export const webhook = async (project: Project, id: string): Promise<WebhookState> =>
  expectOk(await project.get(`/v1/webhooks/${id}`));

export interface Attempt {
  readonly webhook_id: string;
  readonly at: string;
  readonly status: number | null;
  readonly error: string | null;
  readonly milliseconds: number;
  readonly answer: string | null;
}

export const attempts = async (project: Project, id: string): Promise<readonly Attempt[]> =>
  expectOk<{ attempts: Attempt[] }>(await project.get(`/v1/webhooks/${id}/attempts`)).attempts;
