import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { ListName } from '../core/page-token.ts';
import type { Origin } from '../store/write-context.ts';
import type { ServerSpan } from '../tracing/tracing.ts';
import type { PageRequest } from '../values/page.ts';
import { JSON_TYPE } from '../wire/json-answer.ts';
import type { ReceivedBody } from './bodies/received-body.ts';
import { boundUnreadBody } from './connections/unread-body.ts';
import { type LoggedRequest, type LoggedTrace, loggedTrace } from './logged-request.ts';
import { type MalformedQuery, NO_QUERY, type RawQuery } from './parameters/query-string.ts';
import { requestId } from './request-id.ts';

/** One request and its answer. What a handler reads of it has been checked. */
export class Exchange<Caller = unknown, Query = unknown, Body = unknown> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly startedAt = performance.now();
  /** Null while traces are off. */
  span: ServerSpan | null = null;
  /** The path of its operation, with the names of parameters; null where no operation takes the request. */
  path: string | null = null;
  /** The parameters of the path, decoded. One whose escapes do not decode is absent, and no handler gets it. */
  params: Readonly<Record<string, string>> = NO_PARAMS;
  rawQuery: RawQuery | MalformedQuery = NO_QUERY;
  /** Set by authentication. */
  caller!: Caller;
  query!: Query;
  body!: Body;
  /** On paged lists: what their tokens are bound to, and the requested page. */
  list!: ListName;
  page!: PageRequest;
  /** The body as it arrived; null where there is none. Its memory is released with the answer. */
  received: ReceivedBody | null = null;
  contentType = JSON_TYPE;
  /** The answer is 201, where the operation has one. */
  isCreated = false;
  readonly #headers: string[] = [];

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
    this.id = requestId(request);
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  get writer(): Caller & Pick<Origin, 'requestId'> {
    return { ...this.caller, requestId: this.id };
  }

  /** The trace that the request is a part of, for the log. */
  get trace(): LoggedTrace {
    return loggedTrace(this.request, this.span);
  }

  get logged(): LoggedRequest {
    return { reqId: this.id, ...this.trace };
  }

  get pathId(): string {
    return this.params.id as string;
  }

  /** The last ID in the path: where it has two, that of the inner resource. */
  get innerId(): string {
    return Object.values(this.params).at(-1) as string;
  }

  setHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    for (const name in headers) this.#headers.push(name, headers[name] as string);
  }

  /** Sends the head of an answer whose body has this length; null: it is written in pieces. */
  writeHead(status: number, length: number | null): void {
    boundUnreadBody(this.request, this.response);
    const headers = ['x-request-id', this.id, 'content-type', this.contentType];
    if (length !== null) headers.push('content-length', `${length}`);
    this.response.writeHead(status, headers.concat(this.#headers));
  }

  /** JSON ends in a line feed, so that the prompt of a shell does not stick to it. */
  send(status: number, body: string | Uint8Array): void {
    const sent = typeof body === 'string' && this.contentType === JSON_TYPE ? `${body}\n` : body;
    this.writeHead(status, Buffer.byteLength(sent));
    this.response.end(sent);
  }

  sendWithoutBody(status: number): void {
    boundUnreadBody(this.request, this.response);
    this.response.writeHead(status, ['x-request-id', this.id, ...this.#headers]).end();
  }
}

const NO_PARAMS = Object.freeze({});
