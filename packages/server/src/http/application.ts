import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { localUrl } from '../config/local-url.ts';
import type { Caller } from '../core/caller.ts';
import { runWithin } from '../tracing/request-span.ts';
import { readTraceparent } from '../tracing/traceparent.ts';
import type { ServerSpan } from '../tracing/tracing.ts';
import { http } from '../values/node-http.ts';
import { errorBody, JSON_TYPE } from '../wire/json-answer.ts';
import { bodyHeadError, hasDeclaredBody, receiveBody } from './bodies/receive-body.ts';
import { ReceivedBody } from './bodies/received-body.ts';
import type { HttpConnections } from './connections/connections.ts';
import { Cors } from './cors.ts';
import { errorAnswer } from './error-answer.ts';
import { expectsContinue, requireKnownExpectation } from './expectation.ts';
import type { HttpServices } from './http-services.ts';
import { callersWords } from './older-names.ts';
import type { AnyOperation } from './operation.ts';
import { wantsPage } from './preferred-type.ts';
import { rateLimitKey } from './rate-limit.ts';
import { NOT_MODIFIED, type Reply, TAKEN_OVER, writePieces } from './reply.ts';
import type { RouteSeries } from './request-metrics.ts';
import { createRoutes, type Route } from './route.ts';
import { RoutedExchange } from './routed-exchange.ts';
import { Router, requireNoFragment } from './router.ts';

/**
 * Answers requests by the operations' definitions, in the order of the contract: authentication, rate limit, body, checks,
 * handler. Where nothing has to be awaited, a request is answered without a promise.
 */
export class Application {
  readonly server: Server;
  readonly #services: HttpServices;
  readonly #router: Router;
  readonly #cors: Cors;
  readonly #unmatched: RouteSeries;
  readonly #logsRequests: boolean;

  constructor(operations: readonly AnyOperation[], services: HttpServices, connections: HttpConnections) {
    const { settings, requests, log } = services;
    this.#services = services;
    this.#router = new Router(operations.flatMap((operation) => createRoutes(operation, services)));
    this.#cors = new Cors(settings.corsOrigins, this.#router);
    this.#unmatched = requests.route('any', 'unmatched');
    this.#logsRequests = log.isLevelEnabled('debug');
    this.server = connections.createServer(this.handle, this);
  }

  /** Resolves to the URL at which this machine reaches the server. */
  async listen(address: { readonly host: string; readonly port: number }): Promise<string> {
    this.server.listen(address);
    await once(this.server, 'listening');
    const bound = this.server.address() as AddressInfo;
    return localUrl(bound.address, bound.port);
  }

  /** Ends the streams and sockets: they have no end of their own that closing could wait for. Idempotent. */
  stopStreams(): void {
    const { streams, conversationStreams, changeStreams, sockets } = this.#services;
    sockets.stop();
    streams.stop();
    conversationStreams.stop();
    changeStreams.stop();
  }

  /** Ends the streams and the threads, and waits for requests that are being answered. */
  async close(): Promise<void> {
    this.stopStreams();
    this.#services.sockets.close();
    if (this.server.listening) {
      this.server.close();
      this.server.closeIdleConnections();
      await once(this.server, 'close');
    }
    await this.#services.bodyThreads.close();
  }

  /** Whether a request becomes a WebSocket. One that cannot gets its error as a request like any other. */
  accepts(request: IncomingMessage): boolean {
    try {
      const exchange = this.#upgradeOf(request);
      const { route } = exchange;
      if (route?.operation.upgrade === undefined) return false;
      route.check(exchange);
      route.operation.upgrade.require(exchange, this.#services);
      return true;
    } catch {
      return false;
    }
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const exchange = this.#upgradeOf(request);
    exchange.span = this.#beginSpan(exchange);
    exchange.route?.operation.upgrade?.open(exchange, socket, head, this.#services);
    this.#observe(exchange, 101);
  }

  /** The exchange of a request for which Node has made no response. */
  #upgradeOf(request: IncomingMessage): RoutedExchange {
    const exchange = new RoutedExchange(request, new http.ServerResponse(request));
    this.#router.match(exchange);
    return exchange;
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new RoutedExchange(request, response);
    const span = this.#beginSpan(exchange);
    if (span !== null) {
      exchange.span = span;
      // The connection can end before the answer.
      response.once('close', () => span.end({ route: exchange.path, status: null }));
    }
    this.#attempt(exchange, () => {
      this.#router.match(exchange);
      requireKnownExpectation(request);
      this.#dispatch(exchange);
    });
  };

  /** Runs a step of a request as a part of its trace, and answers a failure. */
  #attempt(exchange: RoutedExchange, step: () => void): void {
    try {
      runWithin(exchange.span, step);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #beginSpan({ request, id, startedAt: begun }: RoutedExchange): ServerSpan | null {
    const { tracing } = this.#services;
    if (tracing === null) return null;
    const { method = '', headers } = request;
    const parent = readTraceparent(headers.traceparent);
    return tracing.request({ parent, id, method, path: pathOf(request), begun });
  }

  #dispatch(exchange: RoutedExchange): void {
    const { route, request } = exchange;
    if (this.#cors.apply(exchange)) {
      this.#observe(exchange, 204);
      exchange.sendWithoutBody(204);
      return;
    }
    if (route === null) {
      if (!isVisit(request)) throw this.#router.notFound(exchange);
      this.#observe(exchange, 302);
      exchange.setHeaders(TO_DOCS);
      exchange.sendWithoutBody(302);
      return;
    }
    const caller = route.authenticate?.(exchange.headers.authorization) ?? null;
    if (caller instanceof Promise)
      this.#after(exchange, caller, (verified) => this.#authenticated(exchange, route, verified));
    else this.#authenticated(exchange, route, caller);
  }

  #authenticated(exchange: RoutedExchange, route: Route, caller: object | null): void {
    exchange.caller = caller;
    // What a token opens is its caller's, and may change at any time.
    if (caller !== null) exchange.setHeader('cache-control', 'no-store');
    if (route.isLimited) this.#services.rateLimit?.count(exchange, callerKey(route, caller as Caller));
    requireNoFragment(exchange.request);
    this.#receive(exchange, route);
  }

  #receive(exchange: RoutedExchange, route: Route): void {
    const { request, headers } = exchange;
    if (!route.takesBody || !hasDeclaredBody(headers)) {
      this.#check(exchange, route);
      return;
    }
    const error = bodyHeadError(headers, route.bodyMaxBytes);
    if (error !== null) throw error;
    const body = new ReceivedBody(this.#services.bodyMemory, exchange.caller === null);
    exchange.received = body;
    if (expectsContinue(request)) exchange.response.writeContinue();
    receiveBody(request, body, route.bodyMaxBytes, (failure) => {
      // The events of a body are not part of what began the request.
      this.#attempt(exchange, () => {
        if (failure !== null) throw failure;
        this.#check(exchange, route);
      });
    });
  }

  #check(exchange: RoutedExchange, route: Route): void {
    const checked = route.check(exchange);
    if (checked === undefined) this.#run(exchange, route);
    else this.#after(exchange, checked, () => this.#run(exchange, route));
  }

  #run(exchange: RoutedExchange, route: Route): void {
    const reply = route.operation.handle(exchange as never, this.#services);
    if (reply instanceof Promise) {
      this.#after(exchange, reply, (answer) => this.#answer(exchange, route, answer));
    } else this.#answer(exchange, route, reply);
  }

  /** Continues with the value of a promise. A failure of either is answered. */
  #after<T>(exchange: RoutedExchange, promise: Promise<T>, next: (value: T) => void): void {
    promise.then(
      (value) => this.#attempt(exchange, () => next(value)),
      (error) => this.#fail(exchange, error),
    );
  }

  #answer(exchange: RoutedExchange, route: Route, reply: Reply): void {
    if (reply === TAKEN_OVER) {
      this.#observe(exchange, exchange.response.statusCode);
    } else if (reply === NOT_MODIFIED) {
      this.#observe(exchange, 304);
      exchange.sendWithoutBody(304);
    } else if (typeof reply === 'string' || reply instanceof Uint8Array) {
      exchange.received?.release();
      const status = exchange.isCreated ? 201 : route.status;
      this.#observe(exchange, status);
      exchange.send(status, reply);
    } else if (exchange.request.method === 'HEAD') {
      reply.release();
      this.#observe(exchange, route.status);
      exchange.writeHead(route.status, null);
      exchange.response.end();
    } else {
      const observe = () => void this.#observe(exchange, route.status);
      // The span ends with the connection, before the writing is known to have ended.
      exchange.response.once('finish', observe);
      exchange.writeHead(route.status, null);
      writePieces(exchange, reply, this.#services.log, observe);
    }
  }

  #fail(exchange: RoutedExchange, error: unknown): void {
    const { log } = this.#services;
    const { request, path, logged } = exchange;
    try {
      const answer = errorAnswer(error, { method: request.method, route: path ?? undefined, ...logged }, log);
      exchange.received?.release();
      if (exchange.response.headersSent) throw error;
      const visible = callersWords(exchange)(answer);
      exchange.contentType = JSON_TYPE;
      exchange.setHeaders(answer.headers);
      exchange.span?.failed(visible.code);
      this.#observe(exchange, answer.status).failed(visible.code);
      exchange.send(answer.status, errorBody(visible));
    } catch (err) {
      log.error({ err, ...logged }, 'a request could not be answered; its connection is closed');
      exchange.response.destroy();
    }
  }

  /** One observation and one `debug` line for each answer. Returns the series of its route. */
  #observe(exchange: RoutedExchange, status: number): RouteSeries {
    const { route, request, startedAt } = exchange;
    const ms = performance.now() - startedAt;
    const isHead = request.method === 'HEAD';
    const series = route === null ? this.#unmatched : isHead ? route.headSeries : route.series;
    series.observe(status, ms);
    const projectId = (exchange.caller as Caller | undefined)?.projectId;
    exchange.span?.end({ route: exchange.path, status, projectId });
    if (!this.#logsRequests) return series;
    // Never headers, queries or bodies: they contain tokens, secrets and personal data.
    const { method } = request;
    const path = pathOf(request);
    this.#services.log.debug({ method, path, status, ms, ...exchange.logged, projectId }, 'request');
    return series;
  }
}

/** A browser at the root of the server, which leads to the API description for people. */
const isVisit = (request: IncomingMessage) =>
  (request.method === 'GET' || request.method === 'HEAD') &&
  pathOf(request) === '/' &&
  wantsPage(request.headers.accept);

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

/** The address is relative, so that it is right below a path of a proxy too. */
const TO_DOCS = { location: 'docs', vary: 'Accept' };

const callerKey = ({ operation }: Route, { projectId }: Caller) => rateLimitKey(operation.token, projectId);
