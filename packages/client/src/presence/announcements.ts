import { within } from '../http/deadline.ts';
import type { Transport } from '../http/transport.ts';
import { AnnouncedLocations } from './announced-locations.ts';
import { Announcement, type AnnouncementOptions } from './announcement.ts';
import { PresenceUpdates } from './presence-updates.ts';

/** How long `close()` waits for the announcements to leave; after that their presences expire by themselves. */
const LEAVE_TIMEOUT_MS = 2_000;

/** The announcements of a client. Memory: one entry for each open announcement, and one for each pair of user and group. */
export class Announcements {
  readonly #transport: Transport;
  readonly #open = new Set<Announcement>();
  readonly #scopes = new Map<string, AnnouncedLocations>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Announces with updates to this path. Announcements of the same user and group share an {@link AnnouncedLocations}.
   * @param user identifies the user
   */
  announce(
    user: string,
    groupID: string | undefined,
    path: () => string,
    options: AnnouncementOptions,
  ): Announcement {
    const scope = JSON.stringify([user, groupID]);
    const shared =
      this.#scopes.get(scope) ?? new AnnouncedLocations(new PresenceUpdates(this.#transport, groupID, path));
    this.#scopes.set(scope, shared);
    const announcement = new Announcement(shared, options);
    if (this.#transport.closing.aborted) void announcement.leave();
    this.#open.add(announcement);
    void announcement.ended.then(() => {
      this.#open.delete(announcement);
      if (shared.isUnused && this.#scopes.get(scope) === shared) this.#scopes.delete(scope);
    });
    return announcement;
  }

  /** Leaves all of them; resolves after {@link LEAVE_TIMEOUT_MS} at the latest. */
  async leave(): Promise<void> {
    const left = Promise.all([...this.#open].map((announcement) => announcement.leave()));
    await within(LEAVE_TIMEOUT_MS, [], left).catch(() => {});
  }
}
