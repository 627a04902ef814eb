import { pause } from '../http/pause.ts';
import { AnnouncedPlaces, type PlaceSender } from './announced-places.ts';
import { Announcement, type AnnouncementOptions } from './announcement.ts';

/** How long a client that is closed waits for its announcements to leave; what is late expires by itself. */
const LEAVE_TIMEOUT_MS = 2_000;

/** The announcements of a client. Memory: one entry for each that is open, and one for each user and group of them. */
export class Announcements {
  readonly #open = new Set<Announcement>();
  readonly #scopes = new Map<string, AnnouncedPlaces>();

  /** @param scope names server, user and group: announcements of one scope share what they send */
  announce(scope: string, sender: PlaceSender, options: AnnouncementOptions): Announcement {
    const places = this.#scopes.get(scope) ?? new AnnouncedPlaces(scope, sender);
    this.#scopes.set(scope, places);
    const announcement = new Announcement(places, options);
    this.#open.add(announcement);
    void announcement.ended.then(() => {
      this.#open.delete(announcement);
      if (places.isUnused && this.#scopes.get(scope) === places) this.#scopes.delete(scope);
    });
    return announcement;
  }

  /** All of them leave. */
  async leave(): Promise<void> {
    if (this.#open.size === 0) return;
    const enough = new AbortController();
    const left = Promise.all([...this.#open].map((announcement) => announcement.leave()));
    await Promise.race([left, pause(LEAVE_TIMEOUT_MS, enough.signal).catch(() => {})]);
    enough.abort();
  }
}
