import assert from 'node:assert/strict';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { http } from '../../src/values/node-http.ts';
import { EventParser, type StreamEvent } from './event-parser.ts';
import { Arrivals } from './waiting.ts';

/** Readers that are opened at once, and closed at the end of their block. */
export async function together(
  opening: readonly Promise<StreamReader>[],
): Promise<readonly StreamReader[] & Disposable> {
  const readers = await Promise.all(opening);
  const close = () => {
    for (const reader of readers) reader.close();
  };
  return Object.assign(readers, { [Symbol.dispose]: close });
}

/** A stream that is read over HTTP. */
export class StreamReader {
  readonly parser = new EventParser();
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** The body so far. */
  text = '';
  hasEnded = false;
  readonly #request: ClientRequest;
  readonly #arrivals = new Arrivals();

  private constructor(outgoing: ClientRequest) {
    this.#request = outgoing;
    outgoing.on('error', () => this.#end());
  }

  /** Resolves when the answer has begun, whatever it is. */
  static async open(
    { url, token }: { readonly url: string; readonly token: string },
    path: string,
    headers: Record<string, string> = {},
  ): Promise<StreamReader> {
    const sent = { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers };
    const outgoing = http.request(new URL(path, url), { headers: sent, agent: false });
    const reader = new StreamReader(outgoing);
    outgoing.on('response', (answer) => reader.#read(answer));
    outgoing.end();
    await reader.until('the head of the answer', () => reader.status !== 0 || reader.hasEnded);
    return reader;
  }

  get events(): readonly StreamEvent[] {
    return this.parser.events;
  }

  /** The events of one type. */
  of(type: string): StreamEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  /** The events after the snapshot, once there are `count` of them. */
  async changes(count: number): Promise<StreamEvent[]> {
    const changes = () => this.events.filter(({ type }) => type !== 'snapshot');
    await this.until(`${count} changes`, () => changes().length >= count);
    return changes();
  }

  async snapshot(): Promise<StreamEvent> {
    await this.until('a snapshot', () => this.events.length > 0);
    assert.equal(this.events[0]?.type, 'snapshot');
    return this.events[0] as StreamEvent;
  }

  async ended(): Promise<void> {
    await this.until('the end', () => this.hasEnded);
  }

  until(what: string, isTrue: () => boolean): Promise<void> {
    return this.#arrivals.until(what, isTrue, () => this.text);
  }

  /** Stops reading from the network. */
  pause(): void {
    this.#request.socket?.pause();
  }

  resume(): void {
    this.#request.socket?.resume();
  }

  close(): void {
    this.#request.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #read(answer: IncomingMessage): void {
    this.status = answer.statusCode ?? 0;
    this.headers = answer.headers;
    answer.setEncoding('utf8');
    answer.on('data', (text: string) => {
      this.text += text;
      if (this.status === 200) this.parser.take(text);
      this.#arrivals.notify();
    });
    answer.on('error', () => {});
    answer.on('close', () => this.#end());
    this.#arrivals.notify();
  }

  #end(): void {
    this.hasEnded = true;
    this.#arrivals.notify();
  }
}
