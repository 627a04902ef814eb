import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { nextTick } from 'node:process';
import type { Duplex } from 'node:stream';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { http } from '../../values/node-http.ts';
import { Pipeline } from '../pipeline.ts';
import { answerClientError } from './client-errors.ts';
import { closeLingering, dropInput } from './lingering-close.ts';

/**
 * Bytes of the request line with its headers. A location of 8 KiB takes 24 KiB in a query, and 100 IDs of 320 ASCII characters 32 KiB:
 * Node's own limit is 16 KiB.
 */
const HEADERS_MAX_BYTES = 64 * 1_024;
/** How long an idle connection stays open, in milliseconds. */
const KEEP_ALIVE_MS = 72_000;
/** How often idle connections are searched for while the server stops, in milliseconds. */
const SWEEP_MS = 50;
/**
 * A connection that brought nothing during so many sweeps (1 s) is closed. Sweeps are counted instead of milliseconds: a
 * process that gets no processor time for a while has not read its sockets either.
 */
const IDLE_SWEEPS = 20;
/** Most connections in the kernel's queue that Node has not accepted yet: Node's default for `listen`. */
const BACKLOG = 511;

const DEFAULTS = {
  /** Longest time that a request may take to arrive, in milliseconds: the largest body over a slow line. */
  requestTimeoutMs: 300_000,
  /**
   * How long an answer may wait while its reader takes nothing of it, in milliseconds: as long as for a stream. It is in memory
   * meanwhile.
   */
  unreadTimeoutMs: 120_000,
  /** How often requests that take too long, and answers that are not read, are searched for, in milliseconds. */
  timeoutCheckMs: 30_000,
};

export type ConnectionOptions = Readonly<Partial<typeof DEFAULTS>>;

/** Takes connections over that leave HTTP. */
interface Upgrades {
  /** Whether a request is to be answered with {@link upgrade}; others with `Upgrade` are requests like any other. */
  accepts(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

const NO_UPGRADES: Upgrades = { accepts: () => false, upgrade: (_request, socket) => socket.destroy() };

interface Connection {
  /** The newest response; every other one on this connection is sent before it. */
  latest: ServerResponse | null;
  /** Null until a request arrives before the answer to the one before it: few clients do that. */
  pipeline: Pipeline | null;
  /** The next answer closes the connection. */
  isClosing: boolean;
  bytesRead: number;
  idleSweeps: number;
}

/**
 * The connections of this process' HTTP servers, and how they end. Every close goes through {@link closeLingering}. While
 * the server stops, every request that arrives is answered, with `Connection: close`, and then its connection is closed;
 * connections without a request are closed last. Costs a small record for each open connection.
 */
export class HttpConnections {
  readonly #servers: Server[] = [];
  readonly #connections = new Map<Socket, Connection>();
  readonly #options: typeof DEFAULTS;
  readonly #checking: NodeJS.Timeout;
  #accepted = 0;
  #isDraining = false;
  #onEmpty: () => void = () => {};
  /** Called with each socket that has closed as `this`. */
  readonly #remove: (this: Socket) => void;

  constructor(options: ConnectionOptions = {}) {
    this.#options = { ...DEFAULTS, ...options };
    const connections = this.#connections;
    const onEmpty = () => this.#onEmpty();
    this.#remove = function () {
      connections.delete(this);
      if (connections.size === 0) onEmpty();
    };
    this.#checking = setInterval(() => this.#limitUnread(), this.#options.timeoutCheckMs).unref();
  }

  /** An HTTP server whose connections are tracked here. */
  createServer(listener: RequestListener, upgrades: Upgrades = NO_UPGRADES): Server {
    const server = http.createServer({
      maxHeaderSize: HEADERS_MAX_BYTES,
      requestTimeout: this.#options.requestTimeoutMs,
      connectionsCheckingInterval: this.#options.timeoutCheckMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // A request without Host, or with an expectation, gets an answer like any other, not Node's bare one.
      requireHostHeader: false,
      // The answers before it would come out of order.
      shouldUpgradeCallback: (request) => this.#isIdle(request.socket) && upgrades.accepts(request),
    });
    const receive: RequestListener = (request, response) => this.#receive(listener, request, response);
    for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, receive);
    server.on('upgrade', (request, socket, head) => upgrades.upgrade(request, socket, head));
    server.on('connection', (socket) => this.#add(socket));
    // With a listener Node leaves the closing to it.
    server.on('timeout', (socket) => this.#onTimeout(socket));
    const reject = (error: NodeJS.ErrnoException, socket: Duplex) =>
      answerClientError(error, socket as Socket, this.#connections.get(socket as Socket)?.latest ?? null);
    server.on('clientError', reject);
    server.on('connect', (_request, socket) => {
      // Node has removed its own listener. Without one, a reset by the peer would end the process.
      socket.on('error', () => socket.destroy());
      reject(new Error('this is no proxy'), socket);
    });
    this.#servers.push(server);
    return server;
  }

  #receive(listener: RequestListener, ...[request, response]: Parameters<RequestListener>): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const before = connection.latest;
    if (!this.#track(connection, response)) {
      // Node retains each request until the connection closes, and a stream may take hours.
      dropInput(request.socket);
      return;
    }
    if (isFramingFaulty(request)) response.shouldKeepAlive = false;
    const handle = () => {
      // Pipelined requests that arrived together are all tracked before the first of them is answered.
      if (response.shouldKeepAlive) listener(request, response);
      else nextTick(listener, request, response);
    };
    if (before === null || before.writableFinished) {
      handle();
      return;
    }
    connection.pipeline ??= new Pipeline();
    connection.pipeline.add(request, response, handle);
  }

  get isListening(): boolean {
    return this.#servers.some(({ listening }) => listening);
  }

  /** From now on the next answer on each connection that is open now closes it. New connections are still accepted. */
  closeAfterAnswers(): void {
    for (const connection of this.#connections.values()) {
      connection.isClosing = true;
      if (connection.latest?.headersSent === false) connection.latest.shouldKeepAlive = false;
    }
  }

  /**
   * Accepts no more connections and resolves when those that are open have been answered and closed. What is left after
   * `limitMs` is destroyed.
   */
  async drain(limitMs: number): Promise<void> {
    this.#isDraining = true;
    this.closeAfterAnswers();
    await this.#acceptWaiting();
    // Node's HTTP server would destroy idle connections, and so reset those on which a request is under way.
    for (const server of this.#servers) NetServer.prototype.close.call(server);
    await this.#emptied(limitMs);
    for (const socket of this.#connections.keys()) socket.destroy();
    clearInterval(this.#checking);
    // Without connections the HTTP server's own way is harmless, and it ends a timer.
    for (const server of this.#servers) server.close();
  }

  /**
   * Accepts the connections that wait in the kernel: it resets them when the listener is closed. The event loop accepts
   * as few as one per iteration, so a whole iteration that brought none found none.
   */
  async #acceptWaiting(): Promise<void> {
    // The rest of the event-loop iteration that is under way.
    await nextIteration();
    for (let iteration = 0; this.isListening && iteration < BACKLOG; iteration += 1) {
      const before = this.#accepted;
      await nextIteration();
      if (this.#accepted === before) return;
    }
  }

  async #emptied(limitMs: number): Promise<void> {
    if (this.#connections.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    const sweeping = setInterval(() => this.#closeIdle(), SWEEP_MS);
    const limit = setTimeout(resolve, limitMs);
    await promise;
    clearInterval(sweeping);
    clearTimeout(limit);
  }

  #add(socket: Socket): void {
    this.#accepted += 1;
    this.#connections.set(socket, {
      latest: null,
      pipeline: null,
      isClosing: this.#isDraining,
      bytesRead: 0,
      idleSweeps: 0,
    });
    // Functions of its own would take 400 bytes of each open connection.
    socket.destroySoon = destroySoon;
    socket.on('close', this.#remove);
  }

  /**
   * Tracks the answer as the connection's latest one. False when the answer before it closes the connection: a request
   * behind that must not be applied, because it cannot be answered (RFC 9112, section 9.6), or may be no request at all.
   */
  #track(connection: Connection, response: ServerResponse): boolean {
    const { latest, isClosing } = connection;
    if (latest !== null && (isFramingFaulty(latest.req) || (latest.headersSent && !latest.shouldKeepAlive)))
      return false;
    if (isClosing) {
      // Of pipelined requests the last one closes the connection.
      if (latest?.headersSent === false) latest.shouldKeepAlive = true;
      response.shouldKeepAlive = false;
    }
    connection.latest = response;
    return true;
  }

  /** Whether all requests of the connection have been answered, and the next one is to be. */
  #isIdle(socket: Socket): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isClosing) return false;
    return connection.latest === null || connection.latest.writableFinished;
  }

  /** A socket that waits for its reader gets a timeout, which begins again whenever the reader takes something. */
  #limitUnread(): void {
    const { unreadTimeoutMs } = this.#options;
    for (const socket of this.#connections.keys())
      if (socket.writableLength > 0 && socket.timeout !== unreadTimeoutMs) socket.setTimeout(unreadTimeoutMs);
  }

  /** The connection was idle for too long, or its reader has taken nothing; the handling of a request may take any time. */
  #onTimeout(socket: Socket): void {
    const latest = this.#connections.get(socket)?.latest ?? null;
    if (socket.writableLength > 0) socket.destroy();
    else if (latest === null || latest.writableFinished) closeLingering(socket);
  }

  #closeIdle(): void {
    for (const [socket, connection] of this.#connections) {
      const { latest, bytesRead } = connection;
      const isAnswering = latest !== null && !latest.writableFinished;
      if (isAnswering || socket.bytesRead !== bytesRead) connection.idleSweeps = 0;
      else connection.idleSweeps += 1;
      connection.bytesRead = socket.bytesRead;
      if (connection.idleSweeps >= IDLE_SWEEPS) closeLingering(socket);
    }
  }
}

/** Node calls this after the last answer on a connection. */
function destroySoon(this: Socket): void {
  closeLingering(this);
}

/** HTTP/1.0 has no transfer coding: where the next request begins may be read in another way by a proxy (RFC 9112, section 6.1). */
const isFramingFaulty = ({ httpVersionMinor, headers }: IncomingMessage) =>
  httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined;
