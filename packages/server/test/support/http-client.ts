/**
 * A plain HTTP client that sends a path exactly as it is given. (`fetch` resolves `%2E%2E` and repairs malformed escapes,
 * which some of the tests are about.)
 */
import type { Agent, IncomingHttpHeaders } from 'node:http';
import { http } from '../../src/values/node-http.ts';

/** A complete response. */
export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;

  constructor(status: number, headers: IncomingHttpHeaders, text: string) {
    this.status = status;
    this.headers = headers;
    this.text = text;
  }

  /** The body as JSON, with the type that the caller names and checks. */
  json<Body = unknown>(): Body {
    return JSON.parse(this.text) as Body;
  }
}

export interface Outgoing {
  readonly headers?: Record<string, string>;
  /** Sent as it is. */
  readonly body?: string | Uint8Array;
  readonly agent?: Agent;
}

/** Sends one request. Rejects only when the connection fails. */
export function send(url: string, method: string, path: string, outgoing: Outgoing = {}): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const { headers = {}, body, agent } = outgoing;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: { ...length, ...headers }, agent };
    const outgoing = http.request(options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve(new Answer(incoming.statusCode ?? 0, incoming.headers, text));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
