import { compareCodePoints } from '@rollcall/protocol';
import type { PresenceEvent, PresentUser } from '../../src/presence/presence-store.ts';
import type { Incarnation } from '../../src/values/incarnation.ts';
import type { Json } from '../../src/values/json.ts';

/** Who is where in a group, as one knows it who has read that once and follows the events since. */
export class PresenceFollower {
  readonly #locations = new Map<string, Set<Json>>();
  readonly #incarnations = new Map<string, Incarnation>();

  /** Takes users as they were read. */
  learn(users: readonly PresentUser[]): void {
    for (const { userId, incarnation, locations } of users) {
      this.#locations.set(userId, new Set(locations));
      this.#incarnations.set(userId, incarnation);
    }
  }

  /** @param userId the only user to follow the event for; everybody where it is left out */
  follow(event: PresenceEvent, userId?: string): void {
    const concerns = (id: string) => userId === undefined || id === userId;
    if (event.type === 'groupRemoved') this.#forget([...this.#locations.keys()].filter(concerns));
    else if (event.type === 'usersRemoved') this.#forget(event.userIds.filter(concerns));
    else if (event.type === 'departed' && concerns(event.userId)) this.#leave(event.userId, event.location);
    else if (event.type === 'arrived' && concerns(event.userId)) {
      if (event.from !== null) this.#leave(event.userId, event.from);
      this.#placesOf(event.userId).add(event.location);
      this.#incarnations.set(event.userId, event.incarnation);
    }
  }

  /** The same as a reading gives it. */
  users(): PresentUser[] {
    const present = [...this.#locations].filter(([, locations]) => locations.size > 0);
    return present
      .map(([userId, locations]) => ({
        userId,
        incarnation: this.#incarnations.get(userId) as Incarnation,
        locations: [...locations].sort(compareCodePoints),
      }))
      .sort((a, b) => compareCodePoints(a.userId, b.userId));
  }

  #placesOf(userId: string): Set<Json> {
    let locations = this.#locations.get(userId);
    if (locations === undefined) {
      locations = new Set();
      this.#locations.set(userId, locations);
    }
    return locations;
  }

  #leave(userId: string, location: Json): void {
    this.#placesOf(userId).delete(location);
  }

  #forget(userIds: readonly string[]): void {
    for (const userId of userIds) this.#locations.delete(userId);
  }
}
