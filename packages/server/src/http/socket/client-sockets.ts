import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits, SOCKET_PROTOCOL } from '@rollcall/protocol';
import { type ServerOptions, WebSocketServer } from 'ws';
import { ProjectsInUse } from '../../broker/projects-in-use.ts';
import { AccessChecks } from '../../realtime/sessions/access-checks.ts';
import { OpenStreams } from '../../realtime/sessions/open-streams.ts';
import type { LoggedRequest } from '../logged-request.ts';
import { type RateLimit, rateLimitKey } from '../rate-limit.ts';
import { ClientSocket } from './client-socket.ts';
import type { SocketParts, SocketServices } from './socket-parts.ts';
import { requireUpgrade } from './upgrade.ts';

/** How often, in ticks, access is checked: a notification can be lost. */
const ACCESS_CHECK_TICKS = 8;
/** How long a client may take to answer a close, in milliseconds. */
const CLOSE_MAX_MS = 5_000;
/** Most fragments of one message. */
const FRAGMENTS_MAX = 128;

/** The types lack some of the options. */
const OPTIONS = {
  noServer: true,
  clientTracking: false,
  // A compressed frame can be a thousand times larger than it arrives, and each socket would have its own compressor.
  perMessageDeflate: false,
  maxPayload: limits.SOCKET_FRAME_MAX_BYTES,
  maxFragments: FRAGMENTS_MAX,
  handleProtocols: () => SOCKET_PROTOCOL,
  closeTimeout: CLOSE_MAX_MS,
  // Pings count as frames, so too many close the socket before this does.
  maxPendingAutoPongs: 2 * limits.SOCKET_FRAMES_BURST,
} as ServerOptions;

/** All sockets of this process. */
export class ClientSockets {
  readonly #services: SocketServices;
  readonly #rateLimit: RateLimit | null;
  readonly #server = new WebSocketServer(OPTIONS);
  readonly #open = new Set<ClientSocket>();
  readonly #loggedIn: OpenStreams<ClientSocket>;
  readonly #access: AccessChecks;
  readonly #projects: ProjectsInUse;
  /** The same for all sockets. */
  readonly #parts: SocketParts<ClientSocket>;
  #waiting = 0;
  #ticks = 0;
  #isStopping = false;

  constructor(services: SocketServices, rateLimit: RateLimit | null) {
    this.#services = services;
    this.#rateLimit = rateLimit;
    this.#loggedIn = new OpenStreams(services, {
      tick: () => this.#tick(),
      onChange: (change) => {
        if (change.type === 'eligibility') this.#access.request(change.project, change.userIds);
      },
    });
    this.#access = new AccessChecks(services.store, this.#loggedIn);
    this.#projects = new ProjectsInUse(services.broker, 'eligibility');
    this.#parts = {
      services,
      countFrame: ({ projectId }) => this.#rateLimit?.countFrame(rateLimitKey('client', projectId)),
      loggedIn: (socket) => this.#onLogin(socket),
      closed: (socket) => this.#closed(socket),
      checkAccess: ({ project, userId }) => this.#access.request(project, [userId]),
    };
  }

  get count(): number {
    return this.#open.size;
  }

  /** @throws ServiceError where a request for a socket cannot be answered with one */
  requireUpgrade(request: IncomingMessage): void {
    const { settings } = this.#services;
    const isFull = this.#waiting >= settings.socketsWaiting;
    requireUpgrade(request, { origins: settings.corsOrigins, isFull, isStopping: this.#isStopping });
  }

  /** Answers a request that passed {@link requireUpgrade}. The request's ID is also that of what its socket writes. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, logged: LoggedRequest): void {
    const addId = (headers: string[]) => headers.push(`x-request-id: ${logged.reqId}`);
    this.#server.once('headers', addId);
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      this.#waiting += 1;
      this.#open.add(new ClientSocket(ws, socket as Socket, logged, this.#parts));
    });
    this.#server.off('headers', addId);
  }

  /** Closes all sockets, whose clients connect again at once; no more are opened. Idempotent. */
  stop(): void {
    this.#isStopping = true;
    for (const socket of [...this.#open]) socket.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.stop();
    this.#projects.close();
    this.#loggedIn.close();
  }

  #onLogin(socket: ClientSocket): void {
    this.#waiting -= 1;
    this.#loggedIn.add(socket);
    this.#projects.use(socket.project);
  }

  #closed(socket: ClientSocket): void {
    if (!this.#open.delete(socket)) return;
    if (this.#loggedIn.has(socket)) this.#loggedIn.ended(socket);
    else this.#waiting -= 1;
  }

  #tick(): void {
    this.#ticks += 1;
    for (const socket of this.#open) socket.tick();
    for (const { project } of this.#loggedIn) this.#projects.use(project);
    this.#projects.tick();
    this.#access.tick();
    if (this.#ticks % ACCESS_CHECK_TICKS > 0) return;
    for (const { project } of this.#loggedIn) this.#access.request(project, null);
  }
}
