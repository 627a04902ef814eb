/** A receiver of OTLP over HTTP on this machine, and servers that send it their traces. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { KNOWN, type ServeProcess, withServe } from '../cli/cli-process.ts';
import { withDataDir } from '../support/server.ts';
import { Arrivals } from '../support/waiting.ts';

interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: readonly KeyValue[];
}

interface WireExport {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

export type Attributes = Readonly<Record<string, string | number | undefined>>;

export interface ReceivedSpan extends Omit<WireSpan, 'attributes'> {
  readonly attributes: Attributes;
}

export interface Export {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly resource: Attributes;
  readonly spans: readonly ReceivedSpan[];
}

/** Kinds of spans on the wire. */
export const SERVER = 2;
export const CLIENT = 3;

const attributesOf = (list: readonly KeyValue[]): Attributes =>
  Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

export class OtlpReceiver {
  readonly exports: Export[] = [];
  /** Answers an export; what it does not answer hangs. */
  answer: (response: ServerResponse) => void = (response) => response.end('{}');
  readonly #server: Server;
  readonly #arrivals = new Arrivals();

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => void this.#take(request, response));
  }

  /** A receiver for as long as `use` runs. */
  static async with<Result>(use: (receiver: OtlpReceiver) => Promise<Result>): Promise<Result> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      return await use(new OtlpReceiver(server));
    } finally {
      server.close();
      server.closeAllConnections();
    }
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get spans(): readonly ReceivedSpan[] {
    return this.exports.flatMap(({ spans }) => spans);
  }

  /** Resolves when so many exports have come. */
  async until(count: number): Promise<void> {
    await this.#arrivals.until(
      `${count} exports`,
      () => this.exports.length >= count,
      () => `${this.exports.length} exports`,
    );
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await request.setEncoding('utf8').toArray()).join('');
    const [part] = (JSON.parse(text) as WireExport).resourceSpans;
    const spans = part?.scopeSpans.flatMap((scope) => scope.spans) ?? [];
    this.exports.push({
      path: request.url ?? '',
      headers: request.headers,
      text,
      resource: attributesOf(part?.resource.attributes ?? []),
      spans: spans.map((span) => ({ ...span, attributes: attributesOf(span.attributes) })),
    });
    this.answer(response);
    this.#arrivals.notify();
  }
}

/** A server in a process of its own, with these variables, on a new store. */
export const withServer = <Result>(
  env: Record<string, string>,
  use: (server: ServeProcess) => Promise<Result>,
): Promise<Result> =>
  withDataDir((dataDir) =>
    withServe(dataDir, [...KNOWN, '--stop-delay-seconds', '0'], use, {
      env: { ROLLCALL_LOG_LEVEL: 'debug', ...env },
    }),
  );

/** Stops a server as an operator does, and returns its exit code. */
export async function stop({ process: server }: ServeProcess): Promise<number | null> {
  server.signal('SIGTERM');
  return (await server.ended).code;
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly path?: string;
  readonly trace_id?: string;
  readonly span_id?: string;
}

export const linesOf = ({ process: server }: ServeProcess): LogLine[] =>
  server.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
