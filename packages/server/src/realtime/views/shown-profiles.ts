import { NO_PROFILE, type Profiles, readProfiles } from '../../core/user-profiles.ts';
import type { PresenceScope } from '../../presence/presence-store.ts';
import type { Store } from '../../store/store.ts';
import type { Json } from '../../values/json.ts';

/**
 * The names and pictures of a group's users, while a channel shows them. Costs one text for each user of the group: at most
 * those of a name and an address.
 */
export class ShownProfiles {
  #profiles: Profiles | null = null;

  /** Whether a channel shows them. */
  get isNeeded(): boolean {
    return this.#profiles !== null;
  }

  /** A channel shows them from now on. */
  need(): void {
    this.#profiles ??= new Map();
  }

  /** The group is read anew, and so are they. */
  restart(): void {
    if (this.isNeeded) this.#profiles = new Map();
  }

  /** No channel shows them any more. */
  drop(): void {
    this.#profiles = null;
  }

  /** Null where they are not needed. */
  get(userId: string): Json | null {
    return this.#profiles === null ? null : (this.#profiles.get(userId) ?? NO_PROFILE);
  }

  /** Reads those of these users that are not known; with `isAnew` all of them. Returns the users whose profile is another now. */
  async read(
    store: Store,
    { project }: PresenceScope,
    userIds: readonly string[],
    isAnew = false,
  ): Promise<string[]> {
    const profiles = this.#profiles;
    if (profiles === null) return [];
    const wanted = isAnew ? userIds : userIds.filter((id) => !profiles.has(id));
    if (wanted.length === 0) return [];
    const found = await readProfiles(store, project, wanted);
    return wanted.filter((id) => {
      const profile = found.get(id) ?? NO_PROFILE;
      const isOther = profiles.get(id) !== profile;
      profiles.set(id, profile);
      return isOther;
    });
  }

  /** Forgets the users who are not shown. */
  prune(isShown: (userId: string) => boolean): void {
    for (const userId of this.#profiles?.keys() ?? []) if (!isShown(userId)) this.#profiles?.delete(userId);
  }
}
