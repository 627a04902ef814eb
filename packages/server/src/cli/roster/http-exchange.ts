import { once } from 'node:events';
import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import * as https from 'node:https';
import { http } from '../../values/node-http.ts';
import { reasonOf } from '../reason-of.ts';

/** The answer of a server, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The connection failed. The request may have been applied. */
export class ConnectionError extends Error {}

/** A server that sends nothing for so long has failed: the largest batch on a slow disk takes a fraction of it. */
const SILENCE_MAX_MS = 120_000;

/**
 * Keep-alive connections to one server. `fetch` would resolve `%2E%2E` in a path before sending it, and could not read the
 * group whose ID is `..`.
 */
export class HttpExchange {
  readonly #base: URL;
  readonly #client: Pick<typeof http, 'request'>;
  readonly #agent: Agent;

  constructor(base: URL) {
    this.#base = base;
    const client = base.protocol === 'https:' ? https : http;
    this.#client = client;
    this.#agent = new client.Agent({ keepAlive: true });
  }

  /** Sends one request. The path is below the base URL, and sent exactly as given. @throws ConnectionError */
  async send(method: string, path: string, authorization: string, json = ''): Promise<Answer> {
    const body = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(json)) };
    const outgoing = this.#client.request(this.#base, {
      method,
      path: this.#base.pathname.replace(/\/$/, '') + path,
      headers: { authorization, ...(json !== '' && body) },
      agent: this.#agent,
      timeout: SILENCE_MAX_MS,
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer for ${SILENCE_MAX_MS / 1_000} s`)));
    // An error after the answer has begun also ends the reading below.
    outgoing.on('error', () => {});
    try {
      outgoing.end(json);
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      const { statusCode: status = 0, headers: answered } = incoming;
      return { status, headers: answered, body: Buffer.concat(await incoming.toArray()) };
    } catch (error) {
      throw new ConnectionError(reasonOf(error), { cause: error });
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
