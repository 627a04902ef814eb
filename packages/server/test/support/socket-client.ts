/** The socket of a page, frame by frame. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { SOCKET_PROTOCOL } from '@rollcall/protocol';
import { WebSocket } from 'ws';
import { Browser } from './browser.ts';
import { send } from './http-client.ts';
import type { Project } from './project-client.ts';
import { Arrivals } from './waiting.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a server sends: an answer, or an event. */
// biome-ignore lint/suspicious/noExplicitAny: the fields of frames differ, and tests assert them.
export type ReceivedFrame = any;

export interface Close {
  readonly code: number;
  readonly reason: string;
}

export class SocketClient {
  readonly ws: WebSocket;
  /** Everything that arrived. */
  readonly frames: ReceivedFrame[] = [];
  close: Close | null = null;
  readonly #arrivals = new Arrivals();
  #ref = 0;
  #taken = 0;

  constructor(url: string, headers: Record<string, string> = {}, protocols: string[] = [SOCKET_PROTOCOL]) {
    this.ws = new WebSocket(`${url.replace('http', 'ws')}/v1/client/socket`, protocols, { headers });
    this.ws.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)));
      this.#arrivals.notify();
    });
    this.ws.on('close', (code, reason) => {
      this.close = { code, reason: String(reason) };
      this.#arrivals.notify();
    });
    this.ws.on('open', () => this.#arrivals.notify());
    this.ws.on('error', () => {});
  }

  /** A socket that is open and not logged in. */
  static async open(url: string, headers: Record<string, string> = {}): Promise<SocketClient> {
    const client = new SocketClient(url, headers);
    await client.until('the socket to open', () => client.ws.readyState === WebSocket.OPEN);
    return client;
  }

  /** A socket of this user, with a token for one group or for all of theirs. */
  static async of(
    project: Project,
    userId: string,
    groupId?: string,
    fields: Fields = {},
  ): Promise<SocketClient> {
    const client = await SocketClient.open(project.url);
    const { token } = Browser.of(project, userId, groupId);
    await client.ok('auth', { token, ...fields });
    return client;
  }

  /** One at a time. */
  until(what: string, isTrue: () => boolean): Promise<void> {
    return this.#arrivals.until(what, isTrue, () => JSON.stringify([this.frames.slice(-5), this.close]));
  }

  /** Its connection. */
  get tcp(): Socket {
    return (this.ws as unknown as { readonly _socket: Socket })._socket;
  }

  /** Sends these frames and the close frame at once, so that the server has all of them before it answers. */
  sendAndClose(frames: readonly unknown[], code?: number): void {
    const { tcp } = this;
    tcp.cork();
    for (const frame of frames) this.send(frame);
    this.ws.close(code);
    tcp.uncork();
  }

  /** Sends a frame and resolves to its answer. */
  async request(op: string, fields: Fields = {}): Promise<ReceivedFrame> {
    this.#ref += 1;
    const ref = this.#ref;
    this.send({ op, ref, ...fields });
    return await this.answer(ref);
  }

  async answer(ref: unknown): Promise<ReceivedFrame> {
    const find = () => this.frames.find((frame) => frame.ref === ref);
    await this.until(`the answer to ${ref}`, () => find() !== undefined || this.close !== null);
    return find();
  }

  /** Asserts that the frame succeeds, and returns its `ref`. */
  async ok(op: string, fields: Fields = {}): Promise<number> {
    const answer = await this.request(op, fields);
    assert.deepEqual(answer, { ref: this.#ref, ok: true });
    return answer.ref;
  }

  /** Asserts that the frame is answered with this error, whose message has these fragments. */
  async fails(code: string, op: string, fields: Fields = {}, ...fragments: string[]): Promise<void> {
    const answer = await this.request(op, fields);
    assert.equal(answer?.error, code, JSON.stringify(answer));
    for (const fragment of fragments) assert.ok(answer.message.includes(fragment), answer.message);
  }

  send(frame: unknown): void {
    this.ws.send(typeof frame === 'string' || frame instanceof Uint8Array ? frame : JSON.stringify(frame));
  }

  /** The next event that no other call has returned, which must be of this type. */
  async event(type: string): Promise<ReceivedFrame> {
    const events = () => this.frames.filter(({ event }) => event !== undefined);
    await this.until(type, () => events().length > this.#taken || this.close !== null);
    const event = events()[this.#taken];
    assert.equal(event?.event, type, JSON.stringify(event));
    this.#taken += 1;
    return event;
  }

  /** Resolves when the socket has closed. */
  async closed(): Promise<Close> {
    await this.until('the close', () => this.close !== null);
    return this.close as Close;
  }

  /** Asserts that the server closes the socket with this code. */
  async closes(code: number, reason?: string): Promise<void> {
    const close = await this.closed();
    assert.equal(close.code, code, close.reason);
    if (reason !== undefined) assert.equal(close.reason, reason);
  }

  [Symbol.dispose](): void {
    this.ws.terminate();
  }
}

/** The sockets that the server counts as open, by its metrics: of a broken one the server learns after the client. */
export const openSockets = (server: { readonly url: string }) => gaugeOf(server, 'rollcall_sockets');

/** The streams of presence that the server counts as open, those of sockets among them. */
export const openPresenceStreams = (server: { readonly url: string }) =>
  gaugeOf(server, 'rollcall_presence_streams');

async function gaugeOf({ url }: { readonly url: string }, name: string): Promise<number> {
  const { text } = await send(url, 'GET', '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** A socket of user b that watches group g. */
export async function watcherOf({ project }: { readonly project: Project }): Promise<SocketClient> {
  const watcher = await SocketClient.of(project, 'b', 'g');
  await watcher.ok('watch');
  await watcher.event('snapshot');
  return watcher;
}
