import { pause } from '../http/pause.ts';
import type { CallOptions, Outgoing, Transport } from '../http/transport.ts';
import { AnnouncedLocations, type LocationUpdate } from './announced-locations.ts';
import { Announcement, type AnnouncementOptions } from './announcement.ts';

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

  /** @param of identifies user and group: announcements of the same ones share an {@link AnnouncedLocations} */
  announce(
    of: readonly unknown[],
    request: (update: LocationUpdate) => Outgoing,
    options: AnnouncementOptions,
  ): Announcement {
    const scope = JSON.stringify([this.#transport.base, ...of]);
    const shared =
      this.#scopes.get(scope) ??
      new AnnouncedLocations(scope, {
        send: async (update: LocationUpdate, call: CallOptions) =>
          this.#transport.send(request(update), call),
        dispatch: (update: LocationUpdate) => this.#transport.dispatch(request(update)),
      });
    this.#scopes.set(scope, shared);
    const announcement = new Announcement(shared, options);
    this.#open.add(announcement);
    void announcement.ended.then(() => {
      this.#open.delete(announcement);
      if (shared.isUnused && this.#scopes.get(scope) === shared) this.#scopes.delete(scope);
    });
    return announcement;
  }

  /** Leaves all of them; resolves after {@link LEAVE_TIMEOUT_MS} at the latest. */
  async leave(): Promise<void> {
    if (this.#open.size === 0) return;
    const pausing = new AbortController();
    const left = Promise.all([...this.#open].map((announcement) => announcement.leave()));
    await Promise.race([left, pause(LEAVE_TIMEOUT_MS, pausing.signal).catch(() => {})]);
    pausing.abort();
  }
}
