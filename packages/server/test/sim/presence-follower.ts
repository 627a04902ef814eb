import { compareCodePoints } from '@rollcall/protocol';
import type { PresenceEvent, PresentUser } from '../../src/presence/presence-store.ts';
import type { Incarnation, Json } from '../../src/store/store.ts';

/** Who is where in a group, as one knows it who has read that once and follows the events since. */
export class PresenceFollower {
  readonly #places = new Map<string, Set<Json>>();
  readonly #incarnations = new Map<string, Incarnation>();

  /** Takes users as they were read. */
  learn(users: readonly PresentUser[]): void {
    for (const { userId, incarnation, locations } of users) {
      this.#places.set(userId, new Set(locations));
      this.#incarnations.set(userId, incarnation);
    }
  }

  /** @param userId the only user to follow the event for; everybody where it is left out */
  follow(event: PresenceEvent, userId?: string): void {
    const concerns = (id: string) => userId === undefined || id === userId;
    if (event.type === 'gone') this.#forget([...this.#places.keys()].filter(concerns));
    else if (event.type === 'removed') this.#forget(event.userIds.filter(concerns));
    else if (event.type === 'left' && concerns(event.userId)) this.#leave(event.userId, event.location);
    else if (event.type === 'placed' && concerns(event.userId)) {
      if (event.left !== null) this.#leave(event.userId, event.left);
      this.#placesOf(event.userId).add(event.location);
      this.#incarnations.set(event.userId, event.incarnation);
    }
  }

  /** The same as a reading gives it. */
  users(): PresentUser[] {
    const present = [...this.#places].filter(([, places]) => places.size > 0);
    return present
      .map(([userId, places]) => ({
        userId,
        incarnation: this.#incarnations.get(userId) as Incarnation,
        locations: [...places].sort(compareCodePoints),
      }))
      .sort((a, b) => compareCodePoints(a.userId, b.userId));
  }

  #placesOf(userId: string): Set<Json> {
    let places = this.#places.get(userId);
    if (places === undefined) {
      places = new Set();
      this.#places.set(userId, places);
    }
    return places;
  }

  #leave(userId: string, location: Json): void {
    this.#placesOf(userId).delete(location);
  }

  #forget(userIds: readonly string[]): void {
    for (const userId of userIds) this.#places.delete(userId);
  }
}
