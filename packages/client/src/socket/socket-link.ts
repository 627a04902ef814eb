import { Deadline, type MaybeSignal } from '../http/deadline.ts';
import { backoffMs, SETTLED_MS } from '../http/pause.ts';
import { onAbort } from '../listen.ts';
import { isPageHidden, isPagePrerendered, onPage } from '../page-life.ts';
import { RollcallError } from '../rollcall-error.ts';
import { EventQueue } from '../streams/event-queue.ts';
import type { ReceivedEvent } from '../streams/received-event.ts';
import type { StreamChunk } from '../streams/stream-connection.ts';
import type { LinkedTransport } from './linked-transport.ts';
import { CLOSED, type Frame, LIMITED, Socket, SocketLost } from './socket.ts';

/** An unused open socket is closed after this time, in milliseconds. */
const IDLE_MS = 1_000;
const FIRST_RETRY_MS = 500;
const RETRY_DELAY_MAX_MS = 30_000;
/** The server closed the socket because of too many frames or sockets. */
const TOO_FAST = 4_429;
const TOO_FAST_DELAY_MS = 5_000;
const SERVER_STOPPING = 4_409;
const TOKEN_ENDED = 4_401;
const FORBIDDEN = 4_403;
/** The connection ended without a close code. */
const BROKEN = 1_006;
/** No login reached the server in time. */
const NOT_LOGGED_IN = 4_408;
/** Without a socket at the server or through a proxy, HTTP is used for so long before the next attempt. */
const HTTP_MS = 300_000;
/** Between two calls of the token function. */
const RENEW_AGAIN_MS = 10_000;
const RENEW_AGAIN_LEAST_MS = 1_000;
/** How often the client checks that the connection is alive. */
const CHECK_MS = 25_000;

/**
 * The one socket of a client, which all of its watches and announcements share. It is open while something uses it. It
 * reconnects by itself; where there is no socket, `ready()` returns that HTTP is to be used.
 */
export class SocketLink {
  readonly #transport: LinkedTransport;
  /** What uses the socket, with its listeners. */
  readonly #users = new Map<object, (() => void) | undefined>();
  #releasePage: (() => void)[] = [];
  /** The socket that is open or is being opened. */
  #socket: Socket | null = null;
  /** The socket of {@link ready}: logged in. */
  #open: Socket | null = null;
  /** What {@link ready} waits for: an error where there may be no caller who waits. */
  #opening: Promise<boolean | RollcallError> | null = null;
  #resolve: (result: boolean | RollcallError) => void = () => {};
  #isSuspended = false;
  #hasBeenOpen = false;
  #isTokenRenewed = false;
  #failures = 0;
  #httpUntil = 0;
  /** The last attempt got no answer through a socket, and the server answered over HTTP. */
  #wasAnswered = false;
  /** Times of this clock do not jump when the machine's is set. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #check: ReturnType<typeof setInterval> | undefined;

  constructor(transport: LinkedTransport) {
    this.#transport = transport;
    onAbort(transport.closing, () => this.#disconnect());
  }

  /** Whether updates go through the socket, as far as is known now. */
  get isUsed(): boolean {
    return performance.now() >= this.#httpUntil;
  }

  /** Keeps the socket open until the user is released. Calls the listener whenever a socket has logged in. */
  acquire(user: object, onOpen?: () => void): void {
    this.#users.set(user, onOpen);
    clearTimeout(this.#idle);
    if (this.#releasePage.length === 0) this.#listenToPage();
  }

  release(user: object): void {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#idle = setTimeout(() => this.#disconnect(), IDLE_MS);
  }

  /** True once the socket is open; false where HTTP is to be used. @throws RollcallError when the user is not let in */
  async ready(): Promise<boolean> {
    if (!this.isUsed) return false;
    if (this.#open !== null) return true;
    this.#opening ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    if (this.#timer === undefined) void this.#connect();
    const result = await this.#opening;
    if (result instanceof RollcallError) throw result;
    return result;
  }

  /** Sends an update of presence. @throws RollcallError */
  async update(frame: Frame): Promise<void> {
    await this.#current().request(frame);
  }

  /** The events of a watch, until the socket is lost. @throws RollcallError whenever it ends */
  async *watch(
    frame: Frame,
    signals: readonly MaybeSignal[],
    onOpen: () => void,
  ): AsyncGenerator<StreamChunk> {
    const socket = this.#current();
    const queue = new EventQueue<ReceivedEvent>();
    const deadline = new Deadline(Number.POSITIVE_INFINITY, signals);
    const opening = socket.request(frame, (event) => queue.push(event), deadline.signal);
    try {
      await deadline.race(opening);
      onOpen();
      for (;;) {
        const event = await queue.next(deadline);
        // The watch goes on from the last event that was taken.
        if (event === null) throw new SocketLost('a slow consumer');
        if (event.type === 'lost') throw event.data;
        yield { messages: [event], lastId: event.id };
      }
    } finally {
      deadline.end();
      // Also where the server has not opened it yet.
      opening.then((ref) => socket.unwatch(ref)).catch(() => {});
    }
  }

  #current(): Socket {
    if (this.#open === null) throw new SocketLost(CLOSED);
    return this.#open;
  }

  async #connect(): Promise<void> {
    if (this.#socket !== null || this.#isSuspended || this.#transport.closing.aborted) return;
    const socket = new Socket((seconds) => this.#renew(seconds));
    this.#socket = socket;
    // Whatever is awaited here, the socket may have been closed meanwhile.
    const isOver = () => this.#socket !== socket;
    const { status, base, connectionID } = this.#transport;
    // While HTTP is used, what is watched stays up to date.
    if (!(this.#hasBeenOpen || this.#failures || this.#httpUntil)) status.report(this, 'connecting');
    try {
      const token = await this.#transport.tokens.get();
      if (isOver()) return;
      await socket.open(`${base.replace(/^http/, 'ws')}/v1/client/socket`);
      await socket.request({ op: 'auth', token, connectionID });
      if (!isOver()) this.#opened(socket);
    } catch (error) {
      socket.close();
      const { closeCode } = error as Partial<SocketLost>;
      // A page that is busy while it loads can log in too late.
      const isLate = closeCode === NOT_LOGGED_IN;
      const isCut = isLate || closeCode === BROKEN;
      const isAnswered = !isOver() && isCut && (await this.#isAnswered());
      if (isOver()) return;
      this.#socket = null;
      // Two attempts in a row must find this after a late login, and where a socket has been open: a server that stops accepts no
      // connection, but answers on those that are open.
      if (isAnswered && (this.#wasAnswered || !(isLate || this.#hasBeenOpen))) this.#useHttp();
      else this.#failed(error as RollcallError);
      this.#wasAnswered = isAnswered;
    }
  }

  /** Answers what waits for the socket, and calls what uses it: what a socket held is not refreshed for a while otherwise. */
  #answer(result: boolean | RollcallError): void {
    this.#hasBeenOpen = result === true;
    if (!this.#hasBeenOpen) this.#failures = 0;
    this.#resolve(result);
    this.#opening = null;
    for (const onOpen of this.#users.values()) onOpen?.();
  }

  #opened(socket: Socket): void {
    this.#open = socket;
    this.#wasAnswered = false;
    this.#isTokenRenewed = false;
    const openedAt = performance.now();
    this.#check = setInterval(() => socket.unwatch(), CHECK_MS);
    this.#transport.status.report(this, 'open');
    this.#answer(true);
    void socket.ended.then((error) => {
      if (this.#open !== socket) return;
      if (performance.now() - openedAt > SETTLED_MS) this.#failures = 0;
      this.#close();
      this.#failed(error);
    });
  }

  /** Connects again, now or later; or ends, when the user is not let in. */
  #failed(error: RollcallError): void {
    const { closeCode } = error as Partial<SocketLost>;
    const isAboutToken = error.aboutToken || closeCode === TOKEN_ENDED;
    const canRenew = isAboutToken && !this.#isTokenRenewed && this.#transport.tokens.reject();
    // After another error the new token can have ended too, before the server has read it.
    this.#isTokenRenewed = canRenew;
    if ((isAboutToken && !canRenew) || closeCode === FORBIDDEN || /_not_found$/.test(error.code)) {
      this.#end(errorOfClose(error));
      return;
    }
    const isAtOnce = canRenew || (closeCode === SERVER_STOPPING && this.#failures === 0);
    const leastMs = closeCode === TOO_FAST || error.status === LIMITED ? TOO_FAST_DELAY_MS : 0;
    const delayMs = isAtOnce
      ? Math.random() * FIRST_RETRY_MS
      : Math.max(leastMs, backoffMs(this.#failures, FIRST_RETRY_MS, RETRY_DELAY_MAX_MS));
    this.#failures += 1;
    const state = this.#hasBeenOpen || this.#httpUntil ? 'reconnecting' : 'connecting';
    this.#transport.status.report(this, state, error);
    if (this.#users.size > 0 || this.#opening) this.#timer = setTimeout(() => this.#connectNow(), delayMs);
  }

  #connectNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    void this.#connect();
  }

  /** The user is not let in. What uses the socket gets the error; a later use begins anew. */
  #end(error: RollcallError): void {
    this.#httpUntil = 0;
    this.#transport.status.report(this, 'closed', error);
    this.#answer(error);
  }

  /** Whether the server answers over HTTP. Where a socket has been open, the first attempt sends no request. */
  async #isAnswered(): Promise<boolean> {
    if (this.#hasBeenOpen && this.#failures < 2) return false;
    return this.#transport.json('GET', '/v1/client/viewer', { retries: 0 }).then(
      () => true,
      // Over HTTP, what the server rejects is an error that everything gets.
      ({ retryable }: RollcallError) => !retryable,
    );
  }

  #useHttp(): void {
    this.#httpUntil = performance.now() + HTTP_MS;
    this.#transport.status.report(this, null);
    this.#answer(false);
  }

  /** The token ends in so many seconds. One that has as little time left is not requested again at once, but twice until then. */
  #renew(seconds: number): void {
    const againMs = Math.max(RENEW_AGAIN_LEAST_MS, Math.min(RENEW_AGAIN_MS, seconds * 333));
    const delayMs = Math.max(0, this.#renewedAt + againMs - performance.now());
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(async () => {
      this.#renewedAt = performance.now();
      try {
        // The function can take long, so the delay begins with its answer.
        const token = await this.#transport.tokens.renew().finally(() => {
          this.#renewedAt = performance.now();
        });
        if (token !== null) await this.#open?.request({ op: 'auth', token });
      } catch {
        // The token cannot be had now. The old one is good for some seconds.
        if (this.#open !== null) this.#renew(seconds);
      }
    }, delayMs);
  }

  /** The machine was asleep or offline, or the page was not shown. */
  #wakeUp(): void {
    if (isPageHidden()) return;
    this.#open?.unwatch();
    const isDue = this.#timer !== undefined || (this.#isSuspended && this.#users.size > 0);
    this.#isSuspended = false;
    if (isDue) this.#connectNow();
  }

  #listenToPage(): void {
    this.#isSuspended = isPagePrerendered();
    const wakeUp = () => this.#wakeUp();
    this.#releasePage = [
      onPage('online', wakeUp),
      onPage('offline', wakeUp),
      onPage('visibilitychange', wakeUp),
      onPage('pageshow', wakeUp),
      onPage('pagehide', (event) => {
        // A page that unloads loses its socket by itself, and one that is loaded anew takes over what it held.
        if ((event as { persisted?: boolean } | undefined)?.persisted !== true) return;
        this.#isSuspended = true;
        // Nobody sees it now, but the page may come back while the server is away.
        if (this.#open) this.#transport.status.report(this, 'reconnecting', new SocketLost(CLOSED));
        this.#close();
      }),
    ];
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    clearInterval(this.#check);
    clearTimeout(this.#renewal);
    this.#open = null;
    this.#socket?.close();
    this.#socket = null;
  }

  #disconnect(): void {
    clearTimeout(this.#idle);
    for (const release of this.#releasePage.splice(0)) release();
    this.#close();
    this.#transport.status.report(this, null);
    this.#answer(new RollcallError('aborted', CLOSED));
    // What is released after close() starts no timer.
    this.#users.clear();
  }
}

/** The server has closed the socket with the reason: `user_not_found`. */
const errorOfClose = (error: RollcallError): RollcallError =>
  error instanceof SocketLost
    ? new RollcallError(
        /^\w+$/.test(error.message) ? (error.message as RollcallError['code']) : 'invalid_access_token',
        'the user is not let in',
      )
    : error;
