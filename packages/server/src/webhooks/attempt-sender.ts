import type { IncomingMessage, RequestOptions } from 'node:http';
import * as https from 'node:https';
import { limits } from '@rollcall/protocol';
import type { Clock } from '../core/clock.ts';
import type { WebhookAttempt, WebhookSecrets } from '../store/ports/webhooks.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { http } from '../values/node-http.ts';
import type { ProjectKey } from '../values/project-key.ts';
import { ABORTED, answerText, errorText, statusError } from './attempt-texts.ts';
import { signatureHeaders } from './delivery-signature.ts';
import type { HostLookup } from './host-lookup.ts';

const ANSWER_MS = limits.WEBHOOK_ANSWER_SECONDS * 1_000;
/** How long the body of an answer may take, of which a KiB is read, in milliseconds. */
const BODY_MS = 1_000;
const HEADERS_MAX_BYTES = 16 * 1_024;
/** Most interim responses (1xx) before an answer: each costs the event loop time, and a receiver can send them without end. */
const INTERIM_MAX = 100;

interface Sending extends WebhookSecrets {
  readonly project: ProjectKey;
  readonly url: string;
  /** The header `webhook-id`. */
  readonly id: string;
  readonly body: string;
  /** Whether the receiver has failed before. */
  readonly isRepeat: boolean;
}

/** An attempt, and what follows from the answer. */
export interface AttemptOutcome {
  readonly attempt: WebhookAttempt;
  /** The signal ended the attempt before there was an answer: it says nothing about the receiver. */
  readonly isAborted: boolean;
  readonly isAcknowledged: boolean;
  /** The receiver wants no more. */
  readonly isGone: boolean;
  readonly retryAfter: string | null;
}

/** The connection of one webhook, which is used again while it is open. */
export class Connection {
  readonly http = new http.Agent({ keepAlive: true, maxSockets: 1 });
  readonly https = new https.Agent({ keepAlive: true, maxSockets: 1 });

  [Symbol.dispose](): void {
    this.http.destroy();
    this.https.destroy();
  }
}

/** Sends deliveries. Nothing of an answer is trusted: its time, its headers and its body are bounded, redirects are not followed. */
export class AttemptSender {
  readonly #clock: Clock;
  readonly #hosts: HostLookup;
  readonly #tracing: Pick<Tracing, 'attempt'> | null;

  constructor(clock: Clock, hosts: HostLookup, tracing: Pick<Tracing, 'attempt'> | null = null) {
    this.#clock = clock;
    this.#hosts = hosts;
    this.#tracing = tracing;
  }

  /** One attempt; never rejects. */
  async send(sending: Sending, connection: Connection, signal: AbortSignal): Promise<AttemptOutcome> {
    const at = this.#clock.now();
    const startedAt = performance.now();
    let answer: Answer | null = null;
    let error: string | null = null;
    try {
      answer = await this.#exchange(sending, connection, at, signal);
      error = statusError(answer.status);
    } catch (thrown) {
      error = signal.aborted ? ABORTED : errorText(thrown);
    }
    const milliseconds = Math.round(performance.now() - startedAt);
    const { status = null, body = null, retryAfter = null } = answer ?? {};
    this.#tracing?.attempt({ begun: startedAt, id: sending.id, url: sending.url, status, error });
    return {
      attempt: { webhookId: sending.id, at, status, error, milliseconds, answer: body },
      isAborted: answer === null && signal.aborted,
      isAcknowledged: error === null,
      isGone: status === 410,
      retryAfter,
    };
  }

  /** A connection that the receiver closed while it was idle is no failure of this attempt. */
  async #exchange(
    sending: Sending,
    connection: Connection,
    now: number,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { project, isRepeat } = sending;
    const url = new URL(sending.url);
    this.#hosts.requireAddress(url);
    const isEncrypted = url.protocol === 'https:';
    const options = {
      method: 'POST',
      agent: isEncrypted ? connection.https : connection.http,
      lookup: this.#hosts.forConnection({ project, isEncrypted, isRepeat }),
      maxHeaderSize: HEADERS_MAX_BYTES,
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(sending.body)),
        'user-agent': 'Rollcall',
        ...signatureHeaders(sending.id, sending.body, sending, now),
      },
    };
    const limit = new AbortController();
    const stop = this.#clock.every(ANSWER_MS, () => limit.abort());
    const limited = { ...options, signal: AbortSignal.any([signal, limit.signal]) };
    try {
      return await exchange(url, limited, sending.body);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return await exchange(url, limited, sending.body);
    } finally {
      stop();
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | null;
}

class StaleConnectionError extends Error {}

function exchange(url: URL, options: RequestOptions, body: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = (url.protocol === 'https:' ? https : http).request(url, options);
  let isAnswered = false;
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > INTERIM_MAX) request.destroy(new Error(`more than ${INTERIM_MAX} interim responses`));
  });
  request.once('response', (response) => {
    isAnswered = true;
    const { statusCode = 0, headers } = response;
    void readStart(response).then((start) => {
      // What was not read to its end would stand before the next answer.
      if (!response.complete) request.destroy();
      resolve({ status: statusCode, body: start, retryAfter: headers['retry-after'] ?? null });
    });
  });
  request.on('error', (error: NodeJS.ErrnoException) => {
    if (isAnswered) return;
    const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
    reject(isStale ? new StaleConnectionError() : error);
  });
  request.once('upgrade', ({ statusCode = 0 }, socket) => {
    isAnswered = true;
    socket.destroy();
    resolve({ status: statusCode, body: '', retryAfter: null });
  });
  request.once('close', () => {
    if (!isAnswered) reject(new Error('the receiver closed the connection'));
  });
  request.end(body);
  return promise;
}

/** The first KiB of a body, or what came of it in time. Never rejects. */
async function readStart(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let left = limits.WEBHOOK_ANSWER_MAX_BYTES;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, BODY_MS);
  response.on('data', (chunk: Buffer) => {
    if (left > 0) chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left < 0) {
      response.pause();
      resolve();
    }
  });
  response.once('end', resolve);
  response.once('close', resolve);
  response.on('error', () => resolve());
  await promise;
  clearTimeout(timer);
  return answerText(Buffer.concat(chunks));
}
