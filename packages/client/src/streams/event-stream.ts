/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
  /** The last `id` field of the stream, in this event or before it. */
  readonly id: string;
}

/**
 * Parses `text/event-stream` from chunks that can end anywhere, inside a character too. (The browser's `EventSource`
 * cannot send an Authorization header.) An incomplete event at the end of the stream is dropped, as the standard requires.
 */
export class EventStreamParser {
  /** The `retry` field of the stream: how long to wait before reconnecting, in milliseconds. */
  retryMs: number | undefined;
  /** The last ID of the stream; a heartbeat can have one without an event. */
  lastId: string;
  readonly #decoder = new TextDecoder();
  #line = '';
  /** The chunk before ended with a carriage return: a line feed at the start of the next one is part of it. */
  #isAfterReturn = false;
  #type = '';
  #data: string[] = [];
  #id: string;

  /** @param lastId the last ID of the stream that this one continues; empty for a new stream */
  constructor(lastId = '') {
    this.#id = lastId;
    this.lastId = lastId;
  }

  /** The events that this chunk completes. */
  push(bytes: Uint8Array): StreamEvent[] {
    let text = this.#decoder.decode(bytes, { stream: true });
    const events: StreamEvent[] = [];
    if (text === '') return events;
    if (this.#isAfterReturn && text.startsWith('\n')) text = text.slice(1);
    this.#isAfterReturn = text.endsWith('\r');
    // Only the new text is searched: a line can come in thousands of chunks.
    const [end = '', ...lines] = text.split(/\r\n?|\n/);
    this.#line += end;
    for (const line of lines) {
      if (this.#line === '') this.#dispatch(events);
      else this.#field(this.#line);
      this.#line = line;
    }
    return events;
  }

  #field(line: string): void {
    const [, name, value = ''] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line) ?? [];
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#type = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value);
  }

  /** Adds the event that a blank line completes, if it has data. */
  #dispatch(events: StreamEvent[]): void {
    this.lastId = this.#id;
    if (this.#data.length > 0)
      events.push({ type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id });
    this.#type = '';
    this.#data = [];
  }
}
