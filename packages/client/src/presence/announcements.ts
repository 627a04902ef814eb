import { pause } from '../http/pause.ts';
import type { Announcement } from './announcement.ts';

/** How long a client that is closed waits for its announcements to leave; what is late expires by itself. */
const LEAVE_TIMEOUT_MS = 2_000;

/** The announcements that a client keeps up. */
export class Announcements {
  readonly #open = new Set<Announcement>();

  add(announcement: Announcement): Announcement {
    this.#open.add(announcement);
    void announcement.ended.then(() => this.#open.delete(announcement));
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
