import { backoffMs } from '../http/pause.ts';
import type { CallOptions } from '../http/transport.ts';
import type { Location } from '../protocol.ts';
import type { RollcallError } from '../rollcall-error.ts';
import { isPageHidden, onPage } from './page-life.ts';
import { locationKey } from './same-location.ts';

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

/** What is sent: presence or absence at a place. */
export type PlaceUpdate = Place & { readonly absent?: true };

/** How updates reach the server. */
export interface PlaceSender {
  send(update: PlaceUpdate, options: CallOptions): Promise<unknown>;
  /** Without waiting: also from a page that is going away. */
  dispatch(update: PlaceUpdate): void;
}

const EVERY_MS = 10_000;
const FIRST_RETRY_MS = 1_000;

/**
 * Keeps a user present at a place until `leave()`: sends it at once, again before it expires, and after every move. One
 * update is under way at a time, so that they arrive in order; of moves that come faster, the latest wins.
 *
 * In a browser it leaves with the page (`pagehide`), and also when the page is hidden for so long that the browser slows
 * its timers down; it comes back when the page is seen again.
 */
export class Announcement {
  /** Resolves when it is over: with null after `leave()`, or with the error that ended it. Never rejects. */
  readonly ended: Promise<RollcallError | null>;
  readonly #sender: PlaceSender;
  readonly #options: AnnouncementOptions;
  readonly #everyMs: number;
  readonly #release: (() => void)[] = [];
  #end: (error: RollcallError | null) => void = () => {};
  #place: Place;
  /** Where the server may have the user because of us, by location. */
  readonly #held = new Map<string, Place>();
  /** Nobody sees the page. */
  #isAway = false;
  #isLeaving = false;
  #isOver = false;
  #sending: AbortController | null = null;
  /** Something has changed since what is being sent was read. */
  #isStale = false;
  #sentAt = Date.now();
  #failures = 0;
  #retryAfterMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @internal */
  constructor(sender: PlaceSender, options: AnnouncementOptions) {
    this.#sender = sender;
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#place = { location: options.location, exclusiveWithin: options.exclusiveWithin };
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#followPage();
    this.#followSignal(options.signal);
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

  /** Is present no more. Resolves when the server knows; where it cannot be told, the presence expires by itself. */
  async leave(): Promise<void> {
    if (!this.#isLeaving) {
      this.#isLeaving = true;
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
    this.#sending?.abort();
    for (const { location } of this.#held.values()) this.#sender.dispatch({ location, absent: true });
    this.#held.clear();
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
    if (this.#sending === null && !this.#isOver) void this.#run();
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#isStale && !this.#isOver) {
      this.#isStale = false;
      this.#sending = new AbortController();
      try {
        await this.#send(this.#sending.signal);
        this.#sentAt = Date.now();
        this.#failures = 0;
      } catch (error) {
        this.#failed(error as RollcallError);
      }
    }
    this.#sending = null;
    if (this.#isOver) return;
    if (this.#isLeaving) this.#finish(null);
    else this.#schedule();
  }

  /** Makes it so that the server has the user where they are to be, and nowhere else because of us. */
  async #send(signal: AbortSignal): Promise<void> {
    const place = this.#isLeaving || this.#isAway ? null : this.#place;
    // What fails to leave expires; what fails to come is sent again, as it is by then.
    const options = this.#isLeaving ? { signal } : { signal, retries: 0 };
    if (place !== null) {
      const key = locationKey(place.location);
      // Known before it is sent: it may arrive although its answer does not.
      this.#held.set(key, place);
      await this.#sender.send(place, options);
      for (const [other, held] of this.#held) {
        if (other !== key && isSameRegion(held, place)) this.#held.delete(other);
      }
    }
    for (const [key, { location }] of this.#held) {
      if (place !== null && key === locationKey(place.location)) continue;
      await this.#sender.send({ location, absent: true }, options);
      this.#held.delete(key);
    }
  }

  #failed(error: RollcallError): void {
    const { onError } = this.#options;
    // Aborted because the page went: that is no failure.
    if (error.code === 'aborted' && this.#isAway) return;
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
    return Math.max(this.#retryAfterMs, backoffMs(this.#failures - 1, FIRST_RETRY_MS, this.#everyMs));
  }

  #finish(error: RollcallError | null): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const release of this.#release) release();
    this.#end(error);
  }
}

/** Whether being at one of the places ends being at the other. */
function isSameRegion(a: Place, b: Place): boolean {
  if (a.exclusiveWithin === undefined || b.exclusiveWithin === undefined) return false;
  return locationKey(a.exclusiveWithin) === locationKey(b.exclusiveWithin);
}
