import type { CallOptions } from '../http/transport.ts';
import type { RollcallError } from '../rollcall-error.ts';
import type { AnnouncedLocation } from './announced-location.ts';
import type { LocationUpdate, PresenceUpdates } from './presence-updates.ts';
import { isSameRegion, locationKey } from './same-location.ts';

/** The part of an announcement that the other announcements of its user and group need. */
interface Announcer {
  /** The announced location; null while the page is hidden or unloaded, and after `leave()`. */
  readonly wanted: AnnouncedLocation | null;
  /** Sends its presence again. */
  renew(): void;
}

/**
 * How many locations wait for their absence while the server is away and the user moves on. The server stores no more
 * for one user in one group; a location dropped here expires there.
 */
const POSSIBLE_MAX = 100;

/**
 * The locations that the announcements of one client share, for one user in one group. Announcements are counted by
 * location: the absence is sent when the last one leaves. Only one update is in flight, so updates arrive in order and
 * the latest state wins.
 */
export class AnnouncedLocations {
  readonly updates: PresenceUpdates;
  /** By announcement: the key of the last location that the server accepted. */
  readonly #announcers = new Map<Announcer, string | null>();
  /** Locations where the server may have the user because of this client, by key; the oldest first. */
  readonly #possible = new Map<string, AnnouncedLocation>();
  #latest: Promise<unknown> = Promise.resolve();
  #sending: AbortController | null = null;

  /** @param updates sends them */
  constructor(updates: PresenceUpdates) {
    this.updates = updates;
  }

  /** Whether no announcement is left. */
  get isUnused(): boolean {
    return this.#announcers.size === 0;
  }

  add(announcer: Announcer): void {
    this.updates.open(() => this.#renew(() => true));
    this.#announcers.set(announcer, null);
  }

  remove(announcer: Announcer): void {
    this.#announcers.delete(announcer);
    if (this.isUnused) this.updates.close();
  }

  /** Runs one task at a time, in the order of the calls; a failed task does not stop the next one. */
  runExclusive(task: (options: CallOptions) => Promise<void>): Promise<void> {
    const result = this.#latest.then(async () => {
      this.#sending = new AbortController();
      try {
        // No retries by the transport: the next attempt sends what is wanted by then.
        await task({ signal: this.#sending.signal, retries: 0 });
      } finally {
        this.#sending = null;
      }
    });
    this.#latest = result.catch(() => {});
    return result;
  }

  /** Sends the presence of an announcement. @throws RollcallError */
  async arrive(announcer: Announcer, announced: AnnouncedLocation, options: CallOptions): Promise<void> {
    const key = locationKey(announced.location);
    const before = this.#possible.get(key);
    // Recorded before it is sent: the update can reach the server although the response is lost.
    this.#possible.delete(key);
    this.#possible.set(key, announced);
    const [oldest] = this.#possible.keys();
    if (this.#possible.size > POSSIBLE_MAX) this.#possible.delete(oldest as string);
    const rejected = await this.#send(key, announced, options, before);
    if (rejected) throw rejected;
    if (this.#announcers.has(announcer)) this.#announcers.set(announcer, key);
    for (const [other, possible] of this.#possible) {
      if (other !== key && isSameRegion(possible, announced)) this.#possible.delete(other);
    }
  }

  /**
   * Sends the absence of every location that no announcement wants. An absence that the server rejects permanently is not
   * sent again; the first such error is returned, since it may be about the location of another announcement.
   * @throws RollcallError that is retryable
   */
  async leaveUnwanted(options: CallOptions): Promise<RollcallError | null> {
    let rejected: RollcallError | null = null;
    for (const [key, unwanted] of this.#possible) {
      // Read in each iteration: an announcement can begin while the absence before is in flight.
      if (this.#isWanted(key)) continue;
      const error = await this.#send(key, { location: unwanted.location, absent: true }, options);
      rejected ??= error;
      if (error) continue;
      this.#possible.delete(key);
      this.#renew((wanted) => isSameRegion(wanted, unwanted));
    }
    return rejected;
  }

  /** The page unloads: aborts the update in flight, and sends every absence without waiting. */
  vanish(): void {
    this.#sending?.abort();
    // A socket ends with its page, and what it holds with it.
    for (const possible of this.updates.isHeld ? [] : this.#possible.values()) {
      this.updates.dispatch({ location: possible.location, absent: true });
    }
    this.#possible.clear();
  }

  /** Returns the error with which the server rejects the update permanently. @throws RollcallError any other */
  async #send(
    key: string,
    update: LocationUpdate,
    options: CallOptions,
    before?: AnnouncedLocation,
  ): Promise<RollcallError | null> {
    try {
      await this.updates.send(update, options);
      return null;
    } catch (reason) {
      const error = reason as RollcallError;
      if (error.retryable || error.code === 'aborted') throw error;
      // A user who was there still is: only the data may be invalid. Else a later absence of the location would be rejected too.
      if (before) this.#possible.set(key, before);
      else this.#possible.delete(key);
      return error;
    }
  }

  /** A user who moves stays at the previous location until the server has accepted the next one. */
  #isWanted(key: string): boolean {
    for (const [{ wanted }, reached] of this.#announcers) {
      if (wanted && (reached === key || locationKey(wanted.location) === key)) return true;
    }
    return false;
  }

  #renew(isAffected: (wanted: AnnouncedLocation) => boolean): void {
    for (const announcer of this.#announcers.keys())
      if (announcer.wanted && isAffected(announcer.wanted)) announcer.renew();
  }
}
