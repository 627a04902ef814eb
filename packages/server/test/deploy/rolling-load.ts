/** What hosts and pages do during a rolling update: requests, a stream of changes that resumes, and sockets that connect again. */
import assert from 'node:assert/strict';
import { changesPage } from '../support/change-feed.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { SocketClient } from '../support/socket-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { Arrivals } from '../support/waiting.ts';

/** Further ones would only make the report longer. */
const FAILURES_SHOWN = 10;

/** Requests of several hosts, until they are stopped. */
export class RequestLoad {
  answered = 0;
  /** The IDs of the requests that wrote, and were acknowledged. */
  readonly acknowledged: string[] = [];
  /** The first answers that are errors, and connections that broke. */
  readonly failures: string[] = [];
  readonly #arrivals = new Arrivals();
  readonly #hosts: Promise<void>[];
  #isOver = false;

  /** Each project sends as a host of its own, one request after the other on a connection that stays open. */
  constructor(projects: readonly Project[]) {
    this.#hosts = projects.map((project, index) => this.#send(project, `host-${index}`));
  }

  /** Resolves after so many further answers. */
  more(count: number): Promise<void> {
    const reached = this.answered + count;
    return this.#arrivals.until(
      `${count} answers`,
      () => this.answered >= reached,
      () => `${this.answered}`,
    );
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#hosts);
  }

  async #send(project: Project, user: string): Promise<void> {
    const presence = new Presence(project);
    for (let round = 0; !this.#isOver; round += 1) {
      const id = `${user}:${round}`;
      const headers = { 'x-request-id': id };
      if (await this.#succeeds(project.put(`/v1/users/${user}`, { name: id }, headers)))
        this.acknowledged.push(id);
      await this.#succeeds(presence.put(user, { location: { page: `${round % 5}` } }));
      await this.#succeeds(project.get('/v1/groups/g/presence'));
      await this.#succeeds(project.post('/v1/groups/g/members', { add: [user] }));
    }
  }

  async #succeeds(request: Promise<{ readonly status: number; readonly text: string }>): Promise<boolean> {
    const failure = await request.then(
      ({ status, text }) => (status < 300 ? null : `${status} ${text}`),
      (error: Error) => String(error),
    );
    if (failure !== null && this.failures.length < FAILURES_SHOWN) this.failures.push(failure);
    this.answered += 1;
    this.#arrivals.notify();
    return failure === null;
  }
}

/** Reads the stream of changes, and opens it again at the last position whenever it ends, as a browser does. */
export class ResumingReader {
  /** The IDs of the requests whose changes came, in order. */
  readonly requests: string[] = [];
  /** How often the stream was opened. */
  opened = 0;
  readonly #project: Project;
  readonly #isComplete: (requests: readonly string[]) => boolean;
  readonly #finished: Promise<void>;

  /** @param isComplete whether nothing more is to come */
  constructor(project: Project, after: string, isComplete: (requests: readonly string[]) => boolean) {
    this.#project = project;
    this.#isComplete = isComplete;
    this.#finished = this.#follow(after);
    this.#finished.catch(() => {});
  }

  /** The position from which a reader gets what is written from now on. */
  static async now(project: Project): Promise<string> {
    return (await changesPage(project, { after: 'latest' })).next;
  }

  finished(): Promise<void> {
    return this.#finished;
  }

  async #follow(start: string): Promise<void> {
    for (let after = start; !this.#isComplete(this.requests); ) {
      const reader = await StreamReader.open(this.#project, `/v1/changes?after=${after}&type=user.updated`);
      this.opened += 1;
      assert.equal(reader.status, 200, reader.text);
      let taken = 0;
      const take = () => {
        for (; taken < reader.events.length; taken += 1) {
          this.requests.push(reader.events[taken]?.data.request_id);
        }
        return reader.hasEnded || this.#isComplete(this.requests);
      };
      await reader.until('changes', take);
      reader.close();
      assert.notEqual(reader.parser.retryMs, null);
      after = reader.parser.lastEventId || after;
    }
  }
}

/** A page's socket, which connects again at once when it is closed. */
export class ReconnectingSocket {
  readonly closes: number[] = [];
  readonly #finished: Promise<void>;
  #isOver = false;
  #current: SocketClient | undefined;

  constructor(project: Project, userId: string) {
    this.#finished = this.#run(project, userId);
    this.#finished.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#current?.ws.terminate();
    await this.#finished;
  }

  async #run(project: Project, userId: string): Promise<void> {
    while (!this.#isOver) {
      const client = await SocketClient.of(project, userId, 'g');
      this.#current = client;
      if (this.#isOver) client.ws.terminate();
      await client.ok('watch');
      await client.event('snapshot');
      const { code } = await client.closed();
      if (!this.#isOver) this.closes.push(code);
    }
  }
}
