import { within } from '../http/deadline.ts';
import type { Transport } from '../http/transport.ts';
import type { LeftLocation } from './announced-location.ts';
import { AnnouncedLocations } from './announced-locations.ts';
import { Announcement, type AnnouncementOptions } from './announcement.ts';
import { PresenceUpdates } from './presence-updates.ts';

/** How long `close()` waits for the announcements to leave; after that their presences expire by themselves. */
const LEAVE_TIMEOUT_MS = 2_000;
/** How long a page has to announce again what the page before it did. */
const AGAIN_WITHIN_MS = 2_000;

/** The announcements of a client. Memory: one entry for each open announcement, and one for each pair of user and group. */
export class Announcements {
  readonly #transport: Transport;
  readonly #open = new Set<Announcement>();
  readonly #scopes = new Map<string, AnnouncedLocations>();
  /** See {@link takeOver}: until they are ended or announced again. */
  #left: readonly LeftLocation[] = [];

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
    const shared = this.#sharedOf(scope, groupID, path);
    const announcement = new Announcement(shared, options);
    if (this.#transport.closing.aborted) void announcement.leave();
    this.#open.add(announcement);
    void announcement.ended.then(() => {
      this.#open.delete(announcement);
      this.#dropUnused(scope, shared);
    });
    return announcement;
  }

  /** Where the server may have the users because of this client. */
  get possible(): readonly LeftLocation[] {
    return [...this.#left, ...[...this.#scopes.values()].flatMap((shared) => shared.possible)];
  }

  /**
   * The page before has left its user at these locations, and the server keeps them for this page. Those that it does not announce
   * soon end, in a moment.
   */
  takeOver(left: readonly LeftLocation[], user: string, path: () => string): void {
    if (left.length === 0) return;
    this.#left = left;
    setTimeout(() => {
      this.#left = [];
      // Without a socket in time the server has nothing left of it.
      if (this.#transport.link?.hasBeenOpen !== true) return;
      for (const { groupID, location } of left) {
        const scope = JSON.stringify([user, groupID]);
        const shared = this.#sharedOf(scope, groupID, path);
        void shared.leaveBefore(location).then(() => this.#dropUnused(scope, shared));
      }
    }, AGAIN_WITHIN_MS);
  }

  /** Leaves all of them; resolves after {@link LEAVE_TIMEOUT_MS} at the latest. */
  async leave(): Promise<void> {
    const left = Promise.all([...this.#open].map((announcement) => announcement.leave()));
    await within(LEAVE_TIMEOUT_MS, [], left).catch(() => {});
  }

  #sharedOf(scope: string, groupID: string | undefined, path: () => string): AnnouncedLocations {
    const shared =
      this.#scopes.get(scope) ?? new AnnouncedLocations(new PresenceUpdates(this.#transport, groupID, path));
    this.#scopes.set(scope, shared);
    return shared;
  }

  #dropUnused(scope: string, shared: AnnouncedLocations): void {
    if (shared.isUnused && this.#scopes.get(scope) === shared) this.#scopes.delete(scope);
  }
}
