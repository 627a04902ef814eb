/** The presence stream of a browser, read event by event. */
import assert from 'node:assert/strict';
import type { Browser } from './browser.ts';
import type { StreamEvent } from './event-parser.ts';
import { StreamReader } from './stream-reader.ts';

export class ClientStream {
  readonly #reader: StreamReader;
  #taken = 0;

  private constructor(reader: StreamReader) {
    this.#reader = reader;
  }

  static async open(
    { project: { url }, token }: Browser,
    query: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<ClientStream> {
    const path = `/v1/client/presence?${new URLSearchParams(query)}`;
    const reader = await StreamReader.open({ url, token }, path, headers);
    assert.equal(reader.status, 200);
    return new ClientStream(reader);
  }

  get headers(): StreamReader['headers'] {
    return this.#reader.headers;
  }

  /** Asserts that the next event has this type, and returns its data. */
  async expect(type: string): Promise<StreamEvent['data']> {
    const reader = this.#reader;
    await reader.until(type, () => reader.events.length > this.#taken || reader.hasEnded);
    const event = reader.events[this.#taken];
    assert.ok(event !== undefined, `the stream ended before ${type}`);
    assert.equal(event.type, type, JSON.stringify(event));
    this.#taken += 1;
    return event.data;
  }

  /** Asserts that the next event is this error and that the stream ends after it. */
  async expectEnd(code: string, ...fragments: string[]): Promise<void> {
    const { error, message } = await this.expect('error');
    assert.equal(error, code, message);
    for (const fragment of fragments) assert.ok(message.includes(fragment), message);
    await this.#reader.ended();
    assert.equal(this.#reader.events.length, this.#taken);
  }

  [Symbol.dispose](): void {
    this.#reader.close();
  }
}
