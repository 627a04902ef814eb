import type { PresenceScope } from '../presence/presence-store.ts';
import type { Store } from '../store/store.ts';
import { readAllDurable, readDurable } from './durable-reading.ts';
import type { DurablePlace } from './filtered-view.ts';

/**
 * The latest durable place of each visible user of a group, whatever the filters of the group's channels show of it.
 * Comparing it with the Store shows whether an event was lost. It takes an entry of a map for each user with a durable place.
 */
export class KnownDurable {
  #latest = new Map<string, DurablePlace>();

  get userIds(): Iterable<string> {
    return this.#latest.keys();
  }

  has(userId: string): boolean {
    return this.#latest.has(userId);
  }

  /** Whether this is what is known of the user; undefined stands for no durable place. */
  equals(userId: string, place: DurablePlace | undefined): boolean {
    const known = this.#latest.get(userId);
    return known?.at === place?.at && known?.location === place?.location;
  }

  /** Takes a place that was set. Two events of a user can come in the wrong order; the later place counts. */
  placed(userId: string, { location, at }: DurablePlace): void {
    const known = this.#latest.get(userId);
    if (known === undefined || known.at <= at) this.#latest.set(userId, { location, at });
  }

  hide(userId: string): void {
    this.#latest.delete(userId);
  }

  /** Reads everything again. */
  async read(store: Store, scope: PresenceScope): Promise<void> {
    this.#latest = await readAllDurable(store, scope, null);
  }

  /** Reads these users again, of whom `visible` are visible now. */
  async readUsers(
    store: Store,
    scope: PresenceScope,
    userIds: readonly string[],
    visible: readonly string[],
  ): Promise<void> {
    const places = await readDurable(store, scope, null, visible);
    for (const userId of userIds) this.#latest.delete(userId);
    for (const [userId, place] of places) this.#latest.set(userId, place);
  }
}
