import { backoffMs } from '../http/pause.ts';
import type { Location } from '../protocol.ts';
import type { RollcallError } from '../rollcall-error.ts';
import type { AnnouncedPlaces } from './announced-places.ts';
import { isPageHidden, onPage } from './page-life.ts';

/** Where somebody is, and within what they are nowhere else. */
export interface Place {
  readonly location: Location;
  readonly exclusiveWithin?: Location | undefined;
}

/** How to stay present. */
export interface AnnouncementOptions extends Place {
  /** A third of the server's `ROLLCALL_PRESENCE_TTL_SECONDS`, so that two updates may get lost. Default: 10,000. */
  readonly everyMs?: number | undefined;
  /** Aborting it is `leave()`. */
  readonly signal?: AbortSignal | undefined;
  /** Told of every update that failed. After one that trying again cannot help, the announcement has ended. */
  readonly onError?: ((error: RollcallError) => void) | undefined;
}

const EVERY_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
/** An absence that fails so often is left to expire, and so is one for which the server asks for more patience. */
const LEAVE_ATTEMPTS = 3;
const LEAVE_FIRST_RETRY_MS = 200;
const LEAVE_PATIENCE_MS = 30_000;

/**
 * Keeps a user present at a place until `leave()`: sends it at once, again before it expires, and after every move. Of
 * moves that come faster than the answers, the latest wins. What it shares with the client's other announcements of the
 * same user and group is in {@link AnnouncedPlaces}.
 *
 * In a browser it leaves with the page (`pagehide`), and also when the page is hidden for so long that the browser slows
 * its timers down; it comes back when the page is seen again.
 */
export class Announcement {
  /** Resolves when it is over: with null after `leave()`, or with the error that ended it. Never rejects. */
  readonly ended: Promise<RollcallError | null>;
  readonly #places: AnnouncedPlaces;
  readonly #options: AnnouncementOptions;
  readonly #everyMs: number;
  readonly #release: (() => void)[] = [];
  #end: (error: RollcallError | null) => void = () => {};
  #place: Place;
  /** Nobody sees the page. */
  #isAway = false;
  #isLeaving = false;
  #isOver = false;
  #isSending = false;
  /** Something has changed since what is being sent was read. */
  #isStale = false;
  #sentAt = Date.now();
  #failures = 0;
  #retryAfterMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @internal */
  constructor(places: AnnouncedPlaces, options: AnnouncementOptions) {
    this.#places = places;
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#place = { location: options.location, exclusiveWithin: options.exclusiveWithin };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#places.add(this);
    this.#release.push(() => this.#places.remove(this));
    this.#followPage();
    this.#followSignal(options.signal);
    this.#update();
  }

  /** @internal */
  get wanted(): Place | null {
    return this.#isLeaving || this.#isAway || this.#isOver ? null : this.#place;
  }

  /** @internal */
  renew(): void {
    this.#update();
  }

  /** Where the user is to be; the server may not know yet. */
  get location(): Location {
    return this.#place.location;
  }

  /** Goes to another place. What is not said about `exclusiveWithin` stays as it was. */
  move(location: Location, { exclusiveWithin = this.#place.exclusiveWithin }: Partial<Place> = {}): void {
    this.#place = { location, exclusiveWithin };
    this.#update();
  }

  /**
   * Ends the announcement. The user becomes absent unless another announcement of this client has the same location.
   * Resolves when the server has answered; where it cannot be reached, the presence expires by itself.
   */
  async leave(): Promise<void> {
    if (!this.#isLeaving) {
      this.#isLeaving = true;
      this.#failures = 0;
      this.#update();
    }
    await this.ended;
  }

  #followPage(): void {
    this.#release.push(
      onPage('pagehide', () => this.#vanish()),
      onPage('pageshow', () => this.#comeBack()),
      onPage('visibilitychange', () => this.#comeBack()),
    );
  }

  #followSignal(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const leave = () => void this.leave();
    signal.addEventListener('abort', leave);
    this.#release.push(() => signal.removeEventListener('abort', leave));
    if (signal.aborted) leave();
  }

  /** The page goes, and may come back from the browser's memory: there is no time to wait for anything. */
  #vanish(): void {
    this.#isAway = true;
    this.#places.vanish();
  }

  /** The page is seen again; a machine that slept may owe an update whose timer does not know yet. */
  #comeBack(): void {
    if (isPageHidden()) return;
    const isDue = this.#isAway || Date.now() - this.#sentAt > this.#everyMs;
    this.#isAway = false;
    if (isDue) this.#update();
  }

  /** Sends what is to be, now or after what is being sent. */
  #update(): void {
    this.#isStale = true;
    if (!this.#isSending && !this.#isOver) void this.#run();
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isSending = true;
    while (this.#isStale && !this.#isOver) {
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
    if (this.#isLeaving && !this.#leavesAgain()) this.#finish(null);
    else this.#schedule();
  }

  #leavesAgain(): boolean {
    return this.#failures > 0 && this.#failures < LEAVE_ATTEMPTS && this.#retryAfterMs <= LEAVE_PATIENCE_MS;
  }

  /** First presence, then absence, so that a user who moves is never absent in between. */
  #send(): Promise<void> {
    return this.#places.runExclusive(async (options) => {
      this.#isStale = false;
      const place = this.wanted;
      if (place !== null) await this.#places.arrive(this, place, options);
      // It left meanwhile, and what follows is its absence.
      if (this.wanted === null) this.#isStale = false;
      await this.#places.leaveUnwanted(options);
    });
  }

  #failed(error: RollcallError): void {
    const { onError } = this.#options;
    // Only a page that goes aborts an update: that is no failure. This announcement may learn of it after another one.
    if (error.code === 'aborted') return;
    if (onError !== undefined) queueMicrotask(() => onError(error));
    this.#failures += 1;
    this.#retryAfterMs = error.retryAfterMs ?? 0;
    if (!error.retryable) this.#finish(this.#isLeaving ? null : error);
  }

  #schedule(): void {
    if (this.#isAway && this.#failures === 0) return;
    const delayMs = this.#delayMs();
    const dueAt = Date.now() + delayMs;
    this.#timer = setTimeout(() => {
      // Timers of a hidden page come once a minute after some time: rather gone than there and gone in turns.
      this.#isAway ||= isPageHidden() && Date.now() - dueAt > this.#everyMs;
      this.#update();
    }, delayMs);
  }

  /** Somewhat early, and not all at the same time. */
  #delayMs(): number {
    if (this.#failures === 0) return this.#everyMs * (0.8 + Math.random() / 5);
    const firstMs = this.#isLeaving ? LEAVE_FIRST_RETRY_MS : FIRST_RETRY_MS;
    return Math.max(this.#retryAfterMs, backoffMs(this.#failures - 1, firstMs, this.#everyMs));
  }

  #finish(error: RollcallError | null): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const release of this.#release) release();
    this.#end(error);
  }
}
