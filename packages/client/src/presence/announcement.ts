import { backoffMs, RETRY_AFTER_MAX_MS } from '../http/pause.ts';
import { onAbort } from '../listen.ts';
import { isPageHidden, isPagePrerendered, onPage } from '../page-life.ts';
import type { Location } from '../protocol.ts';
import { DELAY_MAX_MS, type RollcallError } from '../rollcall-error.ts';
import type { AnnouncedLocation } from './announced-location.ts';
import type { AnnouncedLocations } from './announced-locations.ts';

/** The options of an announcement: the locations, and how often they are announced. */
export interface AnnouncementOptions extends AnnouncedLocation {
  /**
   * A third of the server's `ROLLCALL_PRESENCE_TTL_SECONDS`, so that two updates can be lost. Default: 10,000. More than a day counts as
   * a day.
   */
  readonly everyMs?: number | undefined;
  /** Calls `leave()` when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the error of every failed update. After one that is not retryable, the announcement ends, unless it has moved on
   * from an `invalid_field`.
   */
  readonly onError?: ((error: RollcallError) => void) | undefined;
}

const EVERY_MS = 10_000;
/** What a socket holds needs no refreshing. This restores what a bound has ended, and notices a group that was lost. */
const HELD_EVERY_MS = 60_000;
const FIRST_RETRY_MS = 1_000;
/** After so many failures, or when `Retry-After` is longer than the maximum, a presence that expires is left to expire. */
const LEAVE_ATTEMPTS = 3;
const LEAVE_FIRST_RETRY_MS = 200;

/**
 * Announces a user at a location until `leave()`: sends the presence at once, before it expires, and after every move. Of moves
 * that come faster than the responses, the latest wins. {@link AnnouncedLocations} has the state that it shares with the
 * client's other announcements of the same user and group.
 *
 * In a browser it leaves when the page unloads (`pagehide`), and when the page is hidden for so long that the browser
 * throttles its timers; it is present again when the page is shown again.
 */
export class Announcement {
  /** Resolves when it ends: with null after `leave()`, or with the error that ended it. Never rejects. */
  readonly ended: Promise<RollcallError | null>;
  readonly #shared: AnnouncedLocations;
  readonly #options: AnnouncementOptions;
  readonly #everyMs: number;
  readonly #release: readonly (() => void)[];
  #end!: (error: RollcallError | null) => void;
  #announced: AnnouncedLocation;
  /** The page is not shown yet, unloaded, or hidden with throttled timers. */
  #isAway = isPagePrerendered();
  #isLeaving = false;
  #isOver = false;
  /** With which it ends. */
  #error: RollcallError | null = null;
  #isSending = false;
  /** The state has changed since the update in flight was made. */
  #isStale = false;
  #sentAt = Date.now();
  #failures = 0;
  #retryAfterMs = 0;
  /** The server has rejected the last update, and holds the locations as long as the socket is open: they do not expire. */
  #isHeldOn = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @internal */
  constructor(shared: AnnouncedLocations, options: AnnouncementOptions) {
    this.#shared = shared;
    this.#options = options;
    this.#everyMs = Math.min(options.everyMs ?? EVERY_MS, DELAY_MAX_MS);
    const { location, exclusiveWithin, data } = options;
    this.#announced = { location, exclusiveWithin, data };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#shared.add(this);
    this.#release = [
      () => this.#shared.remove(this),
      onPage('pagehide', () => this.#vanish()),
      onPage('pageshow', () => this.#comeBack()),
      onPage('visibilitychange', () => this.#comeBack()),
      onAbort(options.signal, () => void this.leave()),
    ];
    this.renew();
  }

  /** @internal */
  get wanted(): AnnouncedLocation | null {
    return this.#isLeaving || this.#isAway ? null : this.#announced;
  }

  /** The location that is announced; the server may not have it yet. */
  get location(): Location {
    return this.#announced.location;
  }

  /** Moves to another location. Without `exclusiveWithin` and `data`, they stay as they were. */
  move(
    location: Location,
    { exclusiveWithin, data }: Partial<Pick<AnnouncedLocation, 'exclusiveWithin' | 'data'>> = {},
  ): void {
    const before = this.#announced;
    this.#announced = {
      location,
      exclusiveWithin: exclusiveWithin ?? before.exclusiveWithin,
      data: data === undefined ? before.data : data,
    };
    this.renew();
  }

  /**
   * Ends the announcement. The user becomes absent unless another announcement of this client has the same location.
   * Resolves when the server has responded; when it cannot be reached, the presence expires by itself.
   */
  async leave(): Promise<void> {
    if (!this.#isLeaving) this.#failures = 0;
    this.#isLeaving = true;
    // An absence that waits to be repeated is sent now.
    this.#isStale = true;
    // What is announced in the same task arrives first, so that a user who goes to another page is never absent in between.
    queueMicrotask(() => this.#start());
    await this.ended;
  }

  /** The page unloads, and may come back from the back/forward cache. There is no time to wait for a response. */
  #vanish(): void {
    this.#isAway = true;
    this.#shared.vanish();
  }

  /** The page is shown again. After sleep, an update can be due before its timer fires. */
  #comeBack(): void {
    if (isPageHidden()) return;
    const isDue = this.#isAway || (!this.#shared.updates.isHeld && Date.now() - this.#sentAt > this.#everyMs);
    this.#isAway = false;
    if (isDue) this.renew();
  }

  /**
   * Sends the current state, now or after the update in flight.
   * @internal
   */
  renew(): void {
    this.#isStale = true;
    this.#start();
  }

  #start(): void {
    if (!this.#isSending) void this.#run();
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isSending = true;
    while (this.#isStale && !this.#isOver) {
      this.#isStale = false;
      try {
        await this.#send();
        this.#sentAt = Date.now();
        this.#failures = 0;
      } catch (error) {
        this.#failed(error as RollcallError);
      }
    }
    this.#isSending = false;
    if (this.#isOver) return;
    const retries =
      this.#failures > 0 &&
      (this.#isHeldOn || (this.#failures < LEAVE_ATTEMPTS && this.#retryAfterMs <= RETRY_AFTER_MAX_MS));
    if (this.#isLeaving && !retries) this.#finish();
    else this.#schedule();
  }

  /** First presence, then absence, so that a user who moves is never absent in between. */
  #send(): Promise<void> {
    const isArriving = this.wanted !== null;
    return this.#shared.runExclusive(async (options) => {
      // A socket that opens renews all announcements: one that waits for it is sent once, as it is by then.
      if (isArriving) await this.#shared.updates.ready(options);
      const { wanted } = this;
      // The announcement ended while this update waited. Its absence is sent after the updates in between.
      if (isArriving && wanted === null) return;
      this.#isStale = false;
      if (wanted) await this.#shared.arrive(this, wanted, options);
      // The same where it left meanwhile.
      if (this.wanted === null && this.#isStale) return;
      const rejected = await this.#shared.leaveUnwanted(options);
      // An announcement that continues does not end because of the absence of another location.
      if (rejected && this.#isLeaving) throw rejected;
    });
  }

  #failed(error: RollcallError): void {
    // `vanish()` and `close()` abort the update in flight; that is not a failure, and is not repeated as one.
    if (error.code === 'aborted') {
      this.#failures = 0;
      return;
    }
    queueMicrotask(() => this.#options.onError?.(error));
    this.#failures += 1;
    this.#retryAfterMs = error.retryAfterMs ?? 0;
    this.#isHeldOn = this.#shared.updates.isHeld && !/^(network|timeout)$/.test(error.code);
    if (error.retryable) return;
    // Only the location of before, or its data, is invalid.
    if (error.code === 'invalid_field' && this.#isStale) return;
    if (this.#isLeaving) this.#finish();
    else {
      // The user leaves the location of before too.
      this.#error = error;
      this.#isLeaving = true;
      this.#isStale = true;
      this.#failures = 0;
    }
  }

  #schedule(): void {
    if (this.#isAway && this.#failures === 0) return;
    const delayMs = this.#delayMs();
    const dueAt = Date.now() + delayMs;
    this.#timer = setTimeout(() => {
      // A throttled timer fires once a minute. Without this, the user would expire and arrive again each time.
      this.#isAway ||= !this.#shared.updates.isHeld && isPageHidden() && Date.now() - dueAt > this.#everyMs;
      this.renew();
    }, delayMs);
  }

  /** 80 to 100 % of the interval, so that announcements do not all refresh at the same time. */
  #delayMs(): number {
    const everyMs = this.#shared.updates.isHeld ? HELD_EVERY_MS : this.#everyMs;
    if (this.#failures === 0) return everyMs * (0.8 + Math.random() / 5);
    const firstMs = this.#isLeaving ? LEAVE_FIRST_RETRY_MS : FIRST_RETRY_MS;
    return Math.max(this.#retryAfterMs, backoffMs(this.#failures - 1, firstMs, this.#everyMs));
  }

  #finish(): void {
    this.#isOver = true;
    for (const release of this.#release) release();
    this.#end(this.#error);
  }
}
