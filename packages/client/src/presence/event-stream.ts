/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
  /** The last `id` field of the stream, in this event or before it. */
  readonly id: string;
}

/**
 * Parses `text/event-stream` from chunks that can end anywhere, inside a character too. (The browser's `EventSource`
 * cannot send an Authorization header.) An incomplete event at the end of the stream is dropped, as the standard says.
 */
export class EventStreamParser {
  /** The `retry` field of the stream: how long to wait before reconnecting, in milliseconds. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder();
  #line = '';
  /** The chunk before ended with a carriage return: a line feed at the start of the next one is part of it. */
  #isAfterReturn = false;
  #type = '';
  #data: string[] = [];
  #id: string;
  #lastId: string;

  /** @param lastId the last ID of the stream that this one continues; empty for a new stream */
  constructor(lastId = '') {
    this.#id = lastId;
    this.#lastId = lastId;
  }

  /** The last ID of the stream; a heartbeat can have one without an event. */
  get lastId(): string {
    return this.#lastId;
  }

  /** The events that this chunk completes. */
  push(bytes: Uint8Array): StreamEvent[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const events: StreamEvent[] = [];
    for (const line of this.#lines(text)) {
      if (line === '') events.push(...this.#take());
      else this.#field(line);
    }
    return events;
  }

  *#lines(text: string): Generator<string, void, undefined> {
    if (text === '') return;
    let start = this.#isAfterReturn && text.startsWith('\n') ? 1 : 0;
    this.#isAfterReturn = text.endsWith('\r');
    // Only the new text is searched: a line can come in thousands of chunks.
    const lineEnd = /\r\n?|\n/g;
    lineEnd.lastIndex = start;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      const line = this.#line + text.slice(start, end.index);
      this.#line = '';
      start = lineEnd.lastIndex;
      yield line;
    }
    this.#line += text.slice(start);
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#type = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
  }

  /** The event that a blank line completes, if it has data. */
  #take(): StreamEvent[] {
    this.#lastId = this.#id;
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id };
    const isEvent = this.#data.length > 0;
    this.#type = '';
    this.#data = [];
    return isEvent ? [event] : [];
  }
}
