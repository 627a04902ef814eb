import assert from 'node:assert/strict';
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Project } from '../support/project-client.ts';
import { EventParser, type StreamEvent } from './event-parser.ts';

/** How long something may take to come. A test waits for it, never for the time. */
const ARRIVAL_MAX_MS = 10_000;

/** A stream that is read over HTTP. */
export class StreamReader {
  readonly parser = new EventParser();
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** The body as it came. */
  text = '';
  hasEnded = false;
  readonly #request: ClientRequest;
  #wake: () => void = () => {};

  private constructor(outgoing: ClientRequest) {
    this.#request = outgoing;
    outgoing.on('error', () => this.#end());
  }

  /** Resolves when the answer has begun, whatever it is. */
  static async open(
    project: Project,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<StreamReader> {
    const sent = { authorization: `Bearer ${project.token}`, accept: 'text/event-stream', ...headers };
    const outgoing = request(new URL(path, project.url), { headers: sent, agent: false });
    const reader = new StreamReader(outgoing);
    outgoing.on('response', (answer) => reader.#read(answer));
    outgoing.end();
    await reader.until('the head of the answer', () => reader.status !== 0 || reader.hasEnded);
    return reader;
  }

  get events(): readonly StreamEvent[] {
    return this.parser.events;
  }

  /** The events after the snapshot, as `type id place`, once there are so many. */
  async told(count: number): Promise<StreamEvent[]> {
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

  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + ARRIVAL_MAX_MS;
    while (!holds()) {
      const left = deadline - performance.now();
      assert.ok(left > 0, `waited for ${what}; so far: ${this.text}`);
      await this.#change(left);
    }
  }

  /** Takes nothing from the network any more. */
  pause(): void {
    this.#request.socket?.pause();
  }

  resume(): void {
    this.#request.socket?.resume();
  }

  close(): void {
    this.#request.destroy();
  }

  #read(answer: IncomingMessage): void {
    this.status = answer.statusCode ?? 0;
    this.headers = answer.headers;
    answer.setEncoding('utf8');
    answer.on('data', (text: string) => {
      this.text += text;
      if (this.status === 200) this.parser.take(text);
      this.#wake();
    });
    answer.on('error', () => {});
    answer.on('close', () => this.#end());
    this.#wake();
  }

  #end(): void {
    this.hasEnded = true;
    this.#wake();
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
