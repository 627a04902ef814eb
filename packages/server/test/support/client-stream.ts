/** The presence stream of a browser, read event by event. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Browser } from './browser.ts';

export interface StreamEvent {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: events are of several kinds, and each test knows which it reads
  readonly data: any;
}

/** How long a test waits for the next event, in milliseconds; it comes at once unless something is wrong. */
const DEADLINE_MS = 10_000;

/** Opens the stream, and closes it when `use` is done. */
export async function withStream<Result>(
  browser: Browser,
  query: Record<string, string>,
  use: (stream: ClientStream) => Promise<Result>,
  headers: Record<string, string> = {},
): Promise<Result> {
  const outgoing = request(`${browser.project.url}/v1/client/presence?${new URLSearchParams(query)}`, {
    headers: { authorization: `Bearer ${browser.token}`, accept: 'text/event-stream', ...headers },
  }).end();
  try {
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    assert.equal(answer.statusCode, 200);
    return await use(new ClientStream(answer));
  } finally {
    outgoing.destroy();
  }
}

export class ClientStream {
  readonly headers: IncomingMessage['headers'];
  readonly #events: AsyncGenerator<StreamEvent, void, void>;

  constructor(answer: IncomingMessage) {
    this.headers = answer.headers;
    this.#events = events(answer);
  }

  /** The next event, which is of this type; gives what it says. */
  async expect(type: string): Promise<StreamEvent['data']> {
    const next = await this.#next();
    assert.ok(next.done !== true, `the stream ended before ${type}`);
    assert.equal(next.value.type, type, JSON.stringify(next.value));
    return next.value.data;
  }

  /** The stream ends with this refusal, and nothing before it. */
  async expectEnd(code: string, ...fragments: string[]): Promise<void> {
    const { error, message } = await this.expect('error');
    assert.equal(error, code, message);
    for (const fragment of fragments) assert.ok(message.includes(fragment), message);
    assert.equal((await this.#next()).done, true);
  }

  async #next(): Promise<IteratorResult<StreamEvent, void>> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the stream is silent')), DEADLINE_MS);
    });
    return await Promise.race([this.#events.next(), late]).finally(() => clearTimeout(timer));
  }
}

async function* events(answer: IncomingMessage): AsyncGenerator<StreamEvent, void, void> {
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) {
    const blocks = `${text}${piece}`.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
      const data = fields.get('data');
      if (data !== undefined) yield { type: fields.get('event') ?? '', data: JSON.parse(data) };
    }
  }
}
