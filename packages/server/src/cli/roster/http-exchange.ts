import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** What a server answered, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Outgoing {
  readonly method: string;
  /** Below the base URL; leaves exactly as it is given. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The connection failed: nothing is known of what became of the request. */
export class ConnectionError extends Error {}

/** A server that stays silent for longer is taken for gone: the largest batch on a slow disk takes a fraction of it. */
const SILENCE_MAX_MS = 120_000;

/**
 * Keep-alive connections to one server. Not `fetch`, which resolves `%2E%2E` in a path before it leaves, so that the
 * group whose ID is `..` could not be asked for.
 */
export class HttpExchange {
  readonly #base: URL;
  readonly #agent: HttpAgent | HttpsAgent;

  constructor(base: URL) {
    this.#base = base;
    this.#agent = new (base.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true });
  }

  /** Sends one request. @throws ConnectionError */
  send({ method, path, headers, body }: Outgoing): Promise<Answer> {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options: RequestOptions = {
      method,
      path: this.#base.pathname.replace(/\/$/, '') + path,
      headers: { ...headers, ...length },
      agent: this.#agent,
      timeout: SILENCE_MAX_MS,
    };
    return exchanged(this.#base, options, body);
  }

  /** Ends the connections. */
  close(): void {
    this.#agent.destroy();
  }
}

function exchanged(base: URL, options: RequestOptions, body: string | undefined): Promise<Answer> {
  const request = base.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(new ConnectionError(reasonOf(error), { cause: error }));
    const outgoing = request(base, options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', fail);
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on('error', fail);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer for ${SILENCE_MAX_MS / 1_000} s`)));
    outgoing.end(body);
  });
}

/** A name that leads to several addresses fails with one error for each of them, and no message of its own. */
function reasonOf(error: Error): string {
  if (!(error instanceof AggregateError)) return error.message;
  return error.errors.map((inner: Error) => inner.message).join('; ');
}
