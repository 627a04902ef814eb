/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
  /** The last ID that the stream has named, with this event or before. */
  readonly id: string;
}

/**
 * Reads `text/event-stream` from pieces that are cut anywhere, inside a character too. (The browser's `EventSource`
 * cannot send an Authorization header.) What follows the last blank line when the stream ends is no event.
 */
export class EventStreamParser {
  /** How long the server wants readers to wait before they come back, in milliseconds. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder();
  #line = '';
  /** The piece before ended with a carriage return, and a line feed after it is of the same line end. */
  #isAfterReturn = false;
  #type = '';
  #data: string[] = [];
  #id: string;
  #lastId: string;

  /** @param lastId that of the stream which this one goes on with, empty where there was none */
  constructor(lastId = '') {
    this.#id = lastId;
    this.#lastId = lastId;
  }

  /** The last ID that the stream has named; a heartbeat may name one without being an event. */
  get lastId(): string {
    return this.#lastId;
  }

  /** The events that this piece completes. */
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
    // Only what is new is searched: a line may come in thousands of pieces.
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

  /** What a blank line completes: an event where there was data. */
  #take(): StreamEvent[] {
    this.#lastId = this.#id;
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id };
    const isEvent = this.#data.length > 0;
    this.#type = '';
    this.#data = [];
    return isEvent ? [event] : [];
  }
}
