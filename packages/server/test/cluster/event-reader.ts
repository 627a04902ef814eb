import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Project } from '../support/project-client.ts';

/** One event of a stream. */
export interface StreamEvent {
  readonly type: string;
  readonly id: string;
  // biome-ignore lint/suspicious/noExplicitAny: events are of several kinds, and each test knows which it reads
  readonly data: any;
}

/** Reads a stream of events until it is closed or ends; comments are left out. */
export class EventReader {
  /** What came so far. */
  readonly events: StreamEvent[] = [];
  readonly #request: ClientRequest;
  #text = '';

  constructor(project: Project, path: string, lastEventId?: string) {
    const headers = {
      authorization: `Bearer ${project.token}`,
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    };
    this.#request = request(`${project.url}${path}`, { headers }, (answer) => this.#read(answer));
    // A server that is gone ends the stream; what the test expects of it shows in the events.
    this.#request.on('error', () => {});
    this.#request.end();
  }

  /** The events of one kind, in order. */
  of(type: string): StreamEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  close(): void {
    this.#request.destroy();
  }

  #read(answer: IncomingMessage): void {
    answer.setEncoding('utf8');
    answer.on('error', () => {});
    answer.on('data', (text: string) => {
      const blocks = `${this.#text}${text}`.split('\n\n');
      this.#text = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    });
  }

  #take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
    const data = fields.get('data');
    if (data === undefined) return;
    this.events.push({
      type: fields.get('event') ?? 'message',
      id: fields.get('id') ?? '',
      data: JSON.parse(data),
    });
  }
}
