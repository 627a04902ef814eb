import type { Socket } from 'node:net';
import { SOCKET_CLOSES } from '@rollcall/protocol';
import type { WebSocket } from 'ws';
import type { ClientWriter } from '../../core/caller.ts';
import { groupNotFound } from '../../core/errors.ts';
import type { PresenceChange } from '../../core/presence/presence-change.ts';
import type { ServiceError } from '../../core/service-error.ts';
import type { LeaveReason } from '../../presence/presence-store.ts';
import type { SessionRequest, Watcher } from '../../realtime/sessions/stream-request.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { doneFrame, endedFrame, expiringFrame, rejectedFrame } from '../../wire/socket-frames.ts';
import { errorAnswer } from '../error-answer.ts';
import type { LoggedRequest } from '../logged-request.ts';
import { callersWords } from '../older-names.ts';
import { RateLimitError } from '../rate-limit.ts';
import { DurableUpdates } from './durable-updates.ts';
import type { AnyFrame, CheckedFrame, FrameSocket, RawFrame, Right, Then } from './frame-definition.ts';
import { FrameQueue } from './frame-queue.ts';
import { FrameRate } from './frame-rate.ts';
import { FrameWriter } from './frame-writer.ts';
import { Liveness } from './liveness.ts';
import { checkFrame, readFrame, refOf, requireAuth } from './socket-frame.ts';
import { GRACE_MS, graceOf, type Login, logIn, secondsToNotify, type VerifiedLogin } from './socket-login.ts';
import type { SocketParts, SocketServices } from './socket-parts.ts';
import { SocketWatches } from './socket-watches.ts';
import type { WatchOwner } from './watch-sink.ts';

/** Bytes that wait for the network before no more frames are handled. */
const WAITING_MAX_BYTES = 64 * 1_024;
/** How long a socket may be open before it logs in, in ticks of a second. */
const LOGIN_TICKS = 5;
/** The connection broke without a close frame; and the code of a page that is left or loaded anew. */
const BROKEN = 1006;
const GOING_AWAY = 1001;

/**
 * One socket. Its frames are handled one after the other, so that they take effect in their order. It reads no more frames while
 * answers or events wait for the network, so it holds little memory for a client that does not read.
 */
export class ClientSocket implements Watcher, WatchOwner, FrameSocket {
  readonly writer: FrameWriter;
  readonly watches: SocketWatches;
  readonly #parts: SocketParts<ClientSocket>;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #logged: LoggedRequest;
  readonly #rate = new FrameRate(performance.now());
  readonly #liveness: Liveness;
  /** Null until the first durable update: most pages have none. */
  #durable: DurableUpdates | null = null;
  readonly #queue: FrameQueue;
  #login: Login | null = null;
  #ticks = 0;
  /** See {@link graceOf}. 0 also where it was closed for good, with frames that are handled first. */
  #graceMs: number | null = null;
  #ending: ServiceError | 'closed' | null = null;

  constructor(ws: WebSocket, socket: Socket, logged: LoggedRequest, parts: SocketParts<ClientSocket>) {
    this.#parts = parts;
    this.#ws = ws;
    this.#socket = socket;
    this.#logged = logged;
    this.writer = new FrameWriter(ws, socket, () => this.#onReady());
    this.#liveness = new Liveness(parts.services.settings.socketTimeoutSeconds);
    this.watches = new SocketWatches(this);
    this.#queue = new FrameQueue(
      (frame) => this.#handle(frame),
      () => this.#ending === null && this.writer.lengthFor(null) <= WAITING_MAX_BYTES,
      () => this.#receive(),
    );
    ws.on('message', (data, isBinary) => this.#onMessage(data as Buffer, isBinary));
    ws.on('ping', () => this.#count());
    ws.on('pong', () => this.#count());
    // A frame that is no frame: the library closes the socket with its code.
    ws.on('error', (err) =>
      parts.services.log.debug({ err, ...logged }, 'a frame could not be read; its socket is closed'),
    );
    ws.on('close', (code) => this.#onClose(code));
  }

  get services(): SocketServices {
    return this.#parts.services;
  }

  get requestId(): string {
    return this.#logged.reqId;
  }

  get login(): Login | null {
    return this.#login;
  }

  get ending(): ServiceError | 'closed' | null {
    return this.#ending;
  }

  /** Of a socket that is logged in. */
  get request(): SessionRequest {
    const { writer, header, permit } = this.#login as Login;
    return {
      caller: writer,
      viewer: { userId: writer.userId, permit },
      credentials: header,
      checkCredentials: () => this.checkCredentials(),
    };
  }

  get project(): ProjectKey {
    return (this.#login as Login).writer.project;
  }

  get credentials(): string | undefined {
    return this.#login?.header;
  }

  checkCredentials() {
    return this.#parts.services.authenticator.verifyClient(this.credentials);
  }

  /** The groups in which it acts, its token's among them. */
  get groupIds(): Set<string> {
    const { writer, connection } = this.#login as Login;
    const groupIds = new Set([...this.watches.groupIds, ...connection.groupIds]);
    return writer.group === null ? groupIds : groupIds.add(writer.group);
  }

  /** Call it once a second. */
  tick(): void {
    if (this.#ending !== null) return;
    this.#ticks += 1;
    const login = this.#login;
    if (this.#ws.readyState !== this.#ws.OPEN) {
      const state = this.#liveness.closingTick();
      if (state === 'drain') this.#leaveAfterFrames();
      else if (state === 'end') this.#leave();
      return;
    }
    if (login === null) {
      if (this.#ticks > LOGIN_TICKS) this.close(SOCKET_CLOSES.notLoggedIn, 'no auth came in time');
      return;
    }
    this.#announceEnd(login);
    if (this.#ending !== null) return;
    const state = this.#liveness.tick(this.#socket);
    if (state === 'ping') this.#ws.ping();
    else if (state === 'end') this.cutOff(0);
  }

  /** The token, the user or the token's only group has ended. */
  end(error: ServiceError): void {
    const isGone = error.code === 'user_not_found' || error.code === 'group_not_found';
    const reason = callersWords({ caller: this.#login?.writer })(error).code;
    this.close(isGone ? SOCKET_CLOSES.forbidden : SOCKET_CLOSES.tokenEnded, reason);
  }

  /** A watch has ended by itself: see the close codes of the contract. */
  watchEnded(watch: number, error: ServiceError): void {
    const words = this.watches.forget(watch);
    if (words === null || this.#ending !== null) return;
    const isGroup = error.code === 'group_not_found';
    const isOnlyGroup = isGroup && this.#login?.writer.group !== null;
    if (isOnlyGroup || !(isGroup || error.code === 'thread_not_found')) this.end(error);
    else this.writer.send(endedFrame(watch, words(error)));
  }

  /** The user cannot act in this group any more. */
  loseGroup(groupId: string, error: ServiceError): void {
    if (this.#login === null || this.#ending !== null) return;
    const isOnlyGroup = this.#login.writer.group === groupId;
    if (isOnlyGroup || error.code === 'user_not_found') this.end(error);
    else this.#leaveGroup(groupId, error, 'removed');
  }

  /** Ends the connection at once; the client comes back. */
  cutOff(graceMs = GRACE_MS): void {
    this.#leave(graceMs);
    this.#ws.terminate();
  }

  /** The server stops: the client connects again at once. */
  stop(): void {
    this.close(SOCKET_CLOSES.serverStopping, 'the server is stopping', GRACE_MS);
  }

  close(code: number, reason: string, graceMs = 0): void {
    if (this.#ending !== null) return;
    this.#leave(graceMs, code === SOCKET_CLOSES.forbidden ? 'removed' : 'absent');
    this.#ws.close(code, reason);
  }

  /** Answers `auth`. */
  async logIn(connectionID: string | undefined, verified: VerifiedLogin): Promise<Then> {
    const before = this.#login;
    const login = await logIn(this.#parts, connectionID, verified, before);
    if (before !== null) return () => this.#limitTo(login);
    if (this.#ending !== null) {
      login.permit.release();
      await login.connection.close(graceOf(login, this.#graceMs));
      return undefined;
    }
    this.#login = login;
    this.#parts.loggedIn(this);
    return () => this.#limitTo(login);
  }

  putDurable(writer: ClientWriter, change: PresenceChange): Promise<void> {
    this.#durable ??= new DurableUpdates(this.services);
    return this.#durable.put(writer, change);
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (this.#ending !== null || !this.#count()) return;
    if (isBinary) this.close(SOCKET_CLOSES.binaryFrame, 'frames are text');
    else this.#queue.push(data);
  }

  #count(): boolean {
    if (this.#rate.take(performance.now())) return true;
    this.close(SOCKET_CLOSES.tooFast, 'too many frames');
    return false;
  }

  /** Reads frames, unless too much waits. */
  #receive(): void {
    if (this.#ending !== null) return;
    if (this.#queue.isFull) this.#ws.pause();
    else if (this.#ws.isPaused) this.#ws.resume();
  }

  #onReady(): void {
    this.watches.resume();
    this.#queue.run();
  }

  /** Handles a frame and answers it. Null where nothing has to be waited for. Never rejects. */
  #handle(bytes: Buffer): Promise<void> | null {
    let raw: RawFrame = {};
    try {
      raw = readFrame(bytes);
      const login = this.#login;
      if (login === null) requireAuth(raw);
      else this.#parts.countFrame(login.writer);
      const definition = checkFrame(raw, login?.writer.group ?? null);
      const frame = raw as CheckedFrame;
      // Most tokens were verified less than a second ago: no promise more than needed.
      const authorized = definition.authorize(frame, this);
      const handled = this.#run(definition, frame, authorized);
      if (definition.isAnsweredLater?.(frame) !== true) return handled;
      // The next frame may be of the same region, and its token may be verified sooner.
      return authorized instanceof Promise ? authorized.then(ignored, ignored) : null;
    } catch (error) {
      this.#fail(raw, error);
      return null;
    }
  }

  /** Never rejects. */
  async #run(definition: AnyFrame, frame: CheckedFrame, authorized: Right | Promise<Right>): Promise<void> {
    let caller = this.#login?.writer;
    try {
      const right = authorized instanceof Promise ? await authorized : authorized;
      caller = right.writer;
      const then = (await definition.handle(frame, right, this)) as Then;
      if (this.#ending !== null) return;
      this.writer.send(doneFrame(frame.ref));
      then?.();
    } catch (error) {
      this.#fail(frame, error, caller);
    }
  }

  /** What the token does not open ends: of an earlier token, or of the connection that the client has named. */
  #limitTo(login: Login): void {
    const { group } = login.writer;
    for (const groupId of group === null ? [] : this.groupIds) {
      if (groupId === group) continue;
      this.#leaveGroup(groupId, groupNotFound(groupId, 'is not the one that the token opens'));
    }
    this.#announceEnd(login);
  }

  #announceEnd(login: Login): void {
    const seconds = secondsToNotify(login, this.#parts.services.clock.now());
    if (seconds === 0) this.close(SOCKET_CLOSES.tokenEnded, 'the token has ended');
    else if (seconds !== null) this.writer.send(expiringFrame(seconds));
  }

  #fail(frame: RawFrame, error: unknown, caller = this.#login?.writer): void {
    if (this.#ending !== null) return;
    const { services } = this.#parts;
    const op = typeof frame.op === 'string' ? frame.op.slice(0, 20) : undefined;
    const answer = errorAnswer(error, { socketOp: op, ...this.#logged }, services.log);
    const visible = callersWords({ body: frame, caller })(answer);
    this.writer.send(rejectedFrame(refOf(frame), visible));
    if (answer.status === 429 && !(answer instanceof RateLimitError))
      this.close(SOCKET_CLOSES.tooFast, visible.code);
    else if (visible.code === 'user_not_found' && this.#login !== null)
      this.#parts.checkAccess(this.#login.writer);
  }

  #leaveGroup(groupId: string, error: ServiceError, reason: LeaveReason = 'absent'): void {
    const { connection } = this.#login as Login;
    connection.leave(groupId, reason).catch((err) => this.#notReleased(err));
    for (const watch of this.watches.of(groupId))
      this.writer.send(endedFrame(watch, this.watches.close(watch)(error)));
  }

  /** Frames before the close frame take effect. */
  #leaveAfterFrames(): void {
    void this.#queue.drain().then(() => this.#leave());
  }

  /** Ends what it has. What it held ends after a time: see {@link graceOf}. Idempotent. */
  #leave(graceMs = this.#graceMs, reason: LeaveReason = 'absent'): void {
    if (this.#ending !== null) return;
    this.#ending = 'closed';
    this.#graceMs = graceMs;
    this.#queue.clear();
    this.watches.closeAll();
    this.#durable?.close();
    this.#parts.closed(this);
    const login = this.#login;
    if (login === null) return;
    // An update under way would set presence that no connection releases.
    void this.#queue
      .drain()
      .then(() => login.connection.close(graceOf(login, graceMs), reason))
      .catch((err) => this.#notReleased(err));
  }

  #notReleased(err: unknown): void {
    this.#parts.services.log.warn(
      { err, ...this.#logged },
      'presence of a closed socket was not released; it ends with its lease or at its deadline',
    );
  }

  #onClose(code: number): void {
    this.#parts.services.log.debug({ code, ...this.#logged }, 'a socket has closed');
    if (code === BROKEN) {
      this.#leave(GRACE_MS);
      return;
    }
    if (code !== GOING_AWAY && this.#ending === null) this.#graceMs = 0;
    this.#leaveAfterFrames();
  }
}

const ignored = () => {};
