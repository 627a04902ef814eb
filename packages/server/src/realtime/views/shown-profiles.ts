import { isSameProfile, NO_PROFILE, type Profiles, readProfiles } from '../../core/roster/user-profiles.ts';
import type { PresenceScope } from '../../presence/presence-store.ts';
import type { Profile } from '../../store/ports/users.ts';
import type { Store } from '../../store/store.ts';

/** So many are stored before those of users who are not shown are searched for. */
const SPARE = 1_000;

/**
 * The names and pictures of a group's users, while a channel shows them. Costs a name and an address for each user who is shown, and for
 * as many and {@link SPARE} others at most: then those are forgotten.
 */
export class ShownProfiles {
  #profiles: Profiles | null = null;
  /** How many there were when the others were last forgotten. */
  #pruned = 0;

  /** Whether a channel shows them. */
  get isNeeded(): boolean {
    return this.#profiles !== null;
  }

  /** Whether so many have been added that those who are not shown are to be forgotten. */
  get isLarge(): boolean {
    return (this.#profiles?.size ?? 0) > 2 * this.#pruned + SPARE;
  }

  /** A channel shows them from now on. */
  need(): void {
    this.#profiles ??= new Map();
  }

  /** The group is read anew, and so are they. */
  restart(): void {
    if (this.isNeeded) this.#profiles = new Map();
    this.#pruned = 0;
  }

  /** No channel shows them any more. */
  drop(): void {
    this.#profiles = null;
    this.#pruned = 0;
  }

  /** Null where they are not needed. */
  get(userId: string): Profile | null {
    return this.#profiles === null ? null : (this.#profiles.get(userId) ?? NO_PROFILE);
  }

  /** Those of these users whose profile in the Store is another one than here. */
  async differing(store: Store, scope: PresenceScope, userIds: readonly string[]): Promise<string[]> {
    return [...(await this.#others(store, scope, userIds)).keys()];
  }

  /** Reads these users anew. Returns the users whose profile is another now. */
  async read(store: Store, scope: PresenceScope, userIds: readonly string[]): Promise<string[]> {
    const others = await this.#others(store, scope, userIds);
    for (const [id, profile] of others) this.#profiles?.set(id, profile);
    return [...others.keys()];
  }

  /** Those of these users that are not known. */
  unknown(userIds: readonly string[]): string[] {
    const profiles = this.#profiles;
    return profiles === null ? [] : userIds.filter((id) => !profiles.has(id));
  }

  /** The profiles in the Store that are other ones than here. */
  async #others(store: Store, { project }: PresenceScope, userIds: readonly string[]): Promise<Profiles> {
    const others: Profiles = new Map();
    if (this.#profiles === null || userIds.length === 0) return others;
    const found = await readProfiles(store, project, userIds);
    for (const id of userIds) {
      const profile = found.get(id) ?? NO_PROFILE;
      if (!isSameProfile(this.#profiles?.get(id), profile)) others.set(id, profile);
    }
    return others;
  }

  /** Forgets the users who are not shown. */
  prune(isShown: (userId: string) => boolean): void {
    for (const userId of this.#profiles?.keys() ?? []) if (!isShown(userId)) this.#profiles?.delete(userId);
    this.#pruned = this.#profiles?.size ?? 0;
  }
}
