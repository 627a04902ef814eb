/** Real load on a server, so that each of its metrics has something to count. */
import { Browser } from '../support/browser.ts';
import { expectDone } from '../support/expect.ts';
import { Project } from '../support/project-client.ts';
import type { TestServer } from '../support/server.ts';
import { SocketClient } from '../support/socket-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';
import { createWebhook, WebhookReceiver } from '../support/webhook-receiver.ts';

const USERS = Array.from({ length: 12 }, (_, index) => `u${index}`);

/** A project with a group, a stream and a socket that watch it, and two webhooks, one of which fails. */
export class Load implements AsyncDisposable {
  readonly project: Project;
  readonly #receiver: WebhookReceiver;
  readonly #stream: StreamReader;
  readonly #socket: SocketClient;
  #rounds = 0;

  private constructor(
    project: Project,
    receiver: WebhookReceiver,
    stream: StreamReader,
    socket: SocketClient,
  ) {
    this.project = project;
    this.#receiver = receiver;
    this.#stream = stream;
    this.#socket = socket;
  }

  /** The server's webhooks may be sent to this machine. */
  static async on({ url, customerToken }: TestServer): Promise<Load> {
    const project = await Project.create(url, customerToken);
    await project.seed({
      users: USERS.map((id) => ({ id, name: id })),
      groups: [{ id: 'g', name: 'G', members: USERS }],
    });
    const receiver = await WebhookReceiver.open();
    receiver.answer = (response, { path }) => response.writeHead(path === '/ok' ? 204 : 500).end();
    for (const id of ['ok', 'broken']) await createWebhook(project, id, `${receiver.url}${id}`);
    const stream = await StreamReader.open(project, '/v1/groups/g/presence');
    await stream.snapshot();
    const socket = await SocketClient.of(project, 'u0', 'g');
    return new Load(project, receiver, stream, socket);
  }

  /** Writes and reads of all kinds; returns when they are answered. */
  async round(): Promise<void> {
    this.#rounds += 1;
    const { project } = this;
    const page = `p${this.#rounds}`;
    const present = USERS.map((userId) =>
      project.put(`/v1/users/${userId}/presence`, {
        groupID: 'g',
        location: { site: 's', page },
        exclusiveWithin: { site: 's' },
      }),
    );
    const named = USERS.slice(0, 4).map((id) => project.put(`/v1/users/${id}`, { name: `${id} ${page}` }));
    const answers = await Promise.all([...present, ...named]);
    for (const answer of answers) expectDone(answer);
    await project.get('/v1/groups');
    await project.get('/v1/groups/unknown');
    await project.seed({ users: [{ id: 'u1', name: page }] });
    await Browser.of(project, 'u0', 'g').viewer();
  }

  /** Resolves when the stream has events, one webhook was acknowledged, and the other one has failed. */
  async isObserved(): Promise<void> {
    await this.#stream.changes(1);
    const has = (path: string) => this.#receiver.received.some((one) => one.path === path);
    await until('deliveries to both webhooks', () => has('/ok') && has('/broken'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.ws.terminate();
    this.#stream.close();
    this.#receiver.close();
    this.project.close();
  }
}
