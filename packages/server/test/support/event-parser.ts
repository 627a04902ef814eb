/** One event of a stream, as the standard's parser gives it to a page. */
export interface StreamEvent {
  readonly type: string;
  /** The last ID of the stream at this event. */
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which event it reads
  readonly data: any;
}

/** Reads Server-Sent Events (HTML standard, section 9.2.6) from text that comes in any pieces. */
export class EventParser {
  readonly events: StreamEvent[] = [];
  comments = 0;
  /** What the reader sends as `Last-Event-ID` when it reconnects. */
  lastEventId = '';
  retryMs: number | null = null;
  #rest = '';
  #type = '';
  #data: string[] = [];

  /** Text that has come and is no event yet. */
  get unread(): string {
    return this.#rest + this.#data.join('');
  }

  take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() as string;
    for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line: string): void {
    if (line === '') {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) this.comments += 1;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#type = value;
    if (field === 'data') this.#data.push(value);
    if (field === 'id') this.lastEventId = value;
    if (field === 'retry') this.retryMs = Number(value);
  }

  #dispatch(): void {
    if (this.#data.length > 0) {
      const data = JSON.parse(this.#data.join('\n'));
      this.events.push({ type: this.#type || 'message', id: this.lastEventId, data });
    }
    this.#type = '';
    this.#data = [];
  }
}
