import { compareCodePoints } from '@rollcall/protocol';
import type { PresenceEvent, PresentUser } from '../../src/presence/presence-store.ts';
import type { Incarnation } from '../../src/values/incarnation.ts';
import type { Json } from '../../src/values/json.ts';

/** The locations of a group's users, from one reading and the events since. */
export class PresenceFollower {
  readonly #locations = new Map<string, Set<Json>>();
  /** By user and location. */
  readonly #data = new Map<string, Json>();
  readonly #incarnations = new Map<string, Incarnation>();

  /** Replaces the locations of users by those of a reading. */
  apply(users: readonly PresentUser[]): void {
    for (const { userId, incarnation, locations } of users) {
      this.#locations.set(userId, new Set(locations));
      this.#incarnations.set(userId, incarnation);
    }
  }

  /** @param userId the only user to apply the event to; all users by default */
  follow(event: PresenceEvent, userId?: string): void {
    const concerns = (id: string) => userId === undefined || id === userId;
    if (event.type === 'groupRemoved') this.#remove([...this.#locations.keys()].filter(concerns));
    else if (event.type === 'usersRemoved') this.#remove(event.userIds.filter(concerns));
    else if (event.type === 'departed' && concerns(event.userId)) this.#leave(event.userId, event.location);
    else if (event.type === 'arrived' && concerns(event.userId)) {
      if (event.from !== null) this.#leave(event.userId, event.from);
      this.#locationsOf(event.userId).add(event.location);
      this.#incarnations.set(event.userId, event.incarnation);
      this.#setData(event.userId, event.location, event.data ?? null);
    } else if (event.type === 'data' && concerns(event.userId)) {
      this.#setData(event.userId, event.location, event.data);
    }
  }

  /** The users as a reading returns them. */
  users(): PresentUser[] {
    const present = [...this.#locations].filter(([, locations]) => locations.size > 0);
    return present
      .map(([userId, unsorted]) => {
        const locations = [...unsorted].sort(compareCodePoints);
        const incarnation = this.#incarnations.get(userId) as Incarnation;
        const data = locations.map((location) => this.#data.get(`${userId} ${location}`) ?? null);
        return { userId, incarnation, locations, ...(data.some((one) => one !== null) && { data }) };
      })
      .sort((a, b) => compareCodePoints(a.userId, b.userId));
  }

  #locationsOf(userId: string): Set<Json> {
    let locations = this.#locations.get(userId);
    if (locations === undefined) {
      locations = new Set();
      this.#locations.set(userId, locations);
    }
    return locations;
  }

  #setData(userId: string, location: Json, data: Json | null): void {
    if (data === null) this.#data.delete(`${userId} ${location}`);
    else this.#data.set(`${userId} ${location}`, data);
  }

  #leave(userId: string, location: Json): void {
    this.#locationsOf(userId).delete(location);
    this.#setData(userId, location, null);
  }

  #remove(userIds: readonly string[]): void {
    for (const userId of userIds) this.#locations.delete(userId);
  }
}
