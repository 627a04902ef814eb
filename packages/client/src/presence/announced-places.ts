import type { CallOptions } from '../http/transport.ts';
import type { RollcallError } from '../rollcall-error.ts';
import type { Place } from './announcement.ts';
import { OtherTabs } from './other-tabs.ts';
import { isSameRegion, locationKey, sameLocation } from './same-location.ts';

/** What is sent: presence or absence at a place. */
export type PlaceUpdate = Place & { readonly absent?: true };

/** How updates reach the server. */
export interface PlaceSender {
  send(update: PlaceUpdate, options: CallOptions): Promise<unknown>;
  /** Without waiting: also from a page that is going away. */
  dispatch(update: PlaceUpdate): void;
}

/** An announcement, as far as the others of its user and group depend on it. */
export interface Announcer {
  /** What it announces now; null while the page is away, and after it has left. */
  readonly wanted: Place | null;
  /** Sends its presence again. */
  renew(): void;
}

/** After a report of an absence that may still be on its way; longer than a request usually takes. */
const RENEW_AGAIN_MS = 1_000;
/**
 * How many locations may wait for their absence while the server is away and the user moves on. The server stores no
 * more for one user in one group; what is dropped here expires there.
 */
const POSSIBLE_MAX = 100;

/**
 * The places that the announcements of one client share, for one user in one group. Announcements of the same location
 * count: its absence is sent when the last one has left. One update is under way at a time, so that updates arrive in
 * order and the latest state wins.
 */
export class AnnouncedPlaces {
  readonly #sender: PlaceSender;
  /** The location that the server last took for each announcement. */
  readonly #announcers = new Map<Announcer, string | null>();
  /** Where the server may have the user because of this client, by location; the oldest first. */
  readonly #possible = new Map<string, Place>();
  readonly #tabs: OtherTabs;
  #latest: Promise<unknown> = Promise.resolve();
  #sending: AbortController | null = null;
  #renewal: ReturnType<typeof setTimeout> | undefined;

  /** @param scope names server, user and group to the other clients of the origin */
  constructor(scope: string, sender: PlaceSender) {
    this.#sender = sender;
    this.#tabs = new OtherTabs(scope, (place) => this.#onForeignAbsence(place));
  }

  /** Whether no announcement is left. */
  get isUnused(): boolean {
    return this.#announcers.size === 0;
  }

  add(announcer: Announcer): void {
    this.#announcers.set(announcer, null);
  }

  remove(announcer: Announcer): void {
    this.#announcers.delete(announcer);
    if (this.isUnused) this.#disconnect();
  }

  /** Runs one task at a time, in order of the calls; a task that fails does not stop the next one. */
  runExclusive(task: (options: CallOptions) => Promise<void>): Promise<void> {
    const result = this.#latest.then(async () => {
      this.#sending = new AbortController();
      try {
        // The next attempt sends what is wanted by then, so the transport does not repeat this one.
        await task({ signal: this.#sending.signal, retries: 0 });
      } finally {
        this.#sending = null;
      }
    });
    this.#latest = result.catch(() => {});
    return result;
  }

  /** Sends the presence of an announcement. @throws RollcallError */
  async arrive(announcer: Announcer, place: Place, options: CallOptions): Promise<void> {
    const key = locationKey(place.location);
    this.#tabs.open();
    // Before it is sent: it may arrive although its answer does not.
    this.#remember(key, place);
    await this.#send(key, place, options);
    if (this.#announcers.has(announcer)) this.#announcers.set(announcer, key);
    for (const [other, possible] of this.#possible) {
      if (other !== key && isSameRegion(possible, place)) this.#possible.delete(other);
    }
  }

  /** Sends the absence of all locations that no announcement wants. @throws RollcallError */
  async leaveUnwanted(options: CallOptions): Promise<void> {
    for (const [key, place] of this.#possible) {
      // Read anew each time: an announcement may have begun while the absence before was under way.
      if (this.#isWanted(key)) continue;
      await this.#send(key, { location: place.location, absent: true }, options);
      this.#possible.delete(key);
      this.#tabs.reportAbsence(place);
      this.#renew((wanted) => isSameRegion(wanted, place));
    }
  }

  /** The page goes: gives up what is under way, and sends every absence without waiting. */
  vanish(): void {
    this.#sending?.abort();
    for (const place of this.#possible.values()) {
      this.#sender.dispatch({ location: place.location, absent: true });
      this.#tabs.reportAbsence(place);
    }
    this.#possible.clear();
    // An open channel can keep a page out of the browser's back/forward cache.
    this.#disconnect();
  }

  #remember(key: string, place: Place): void {
    this.#possible.delete(key);
    this.#possible.set(key, place);
    const [oldest] = this.#possible.keys();
    if (this.#possible.size > POSSIBLE_MAX && oldest !== undefined) this.#possible.delete(oldest);
  }

  async #send(key: string, update: PlaceUpdate, options: CallOptions): Promise<void> {
    try {
      await this.#sender.send(update, options);
    } catch (error) {
      // The server rejected the update: a later absence of the location would be rejected too.
      if (!(error as RollcallError).retryable) this.#possible.delete(key);
      throw error;
    }
  }

  /** A user who moves stays at the location before until the server has taken the next one. */
  #isWanted(key: string): boolean {
    for (const [{ wanted }, reached] of this.#announcers) {
      if (wanted !== null && (reached === key || locationKey(wanted.location) === key)) return true;
    }
    return false;
  }

  /** True where an announcement was affected. */
  #renew(isAffected: (wanted: Place) => boolean): boolean {
    const affected = [...this.#announcers.keys()].filter(
      ({ wanted }) => wanted !== null && isAffected(wanted),
    );
    for (const announcer of affected) announcer.renew();
    return affected.length > 0;
  }

  /**
   * Another client sent an absence that ends presence here. A page that is going away reports it before the server has
   * it, hence the second time: then of all announcements, as several absences may have come.
   */
  #onForeignAbsence(place: Place): void {
    const isAffected = (wanted: Place) =>
      sameLocation(wanted.location, place.location) || isSameRegion(wanted, place);
    if (!this.#renew(isAffected)) return;
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => this.#renew(() => true), RENEW_AGAIN_MS);
  }

  #disconnect(): void {
    clearTimeout(this.#renewal);
    this.#tabs.close();
  }
}
