import { canonicalLocation, compareCodePoints, type Location, type PresenceEntry } from '@rollcall/protocol';
import type { StreamEvent } from './event-parser.ts';

interface Known {
  readonly places: Set<string>;
  durable: PresenceEntry['durable'];
}

/** A reader as docs/api.md tells it to be: takes events in their order, and knows who is where. */
export class ReaderModel {
  readonly #users = new Map<string, Known>();

  take({ type, data }: StreamEvent): void {
    if (type === 'snapshot') {
      this.#users.clear();
      for (const { id, ephemeral, durable } of data.users as PresenceEntry[]) {
        this.#users.set(id, { places: new Set(ephemeral.locations.map(canonicalLocation)), durable });
      }
    }
    if (type === 'arrived') {
      const { places } = this.#user(data.id);
      if (data.from !== undefined) places.delete(canonicalLocation(data.from));
      places.add(canonicalLocation(data.location));
    }
    if (type === 'departed') {
      const user = this.#user(data.id);
      if (data.durable === true) user.durable = undefined;
      else user.places.delete(canonicalLocation(data.location));
    }
    if (type === 'durable') {
      this.#user(data.id).durable = { location: data.location, timestamp: data.timestamp };
    }
  }

  /** Who is where, as the reading gives it. */
  entries(): PresenceEntry[] {
    return [...this.#users]
      .filter(([, { places, durable }]) => places.size > 0 || durable !== undefined)
      .sort(([a], [b]) => compareCodePoints(a, b))
      .map(([id, { places, durable }]) => ({
        id,
        ephemeral: {
          locations: [...places].sort(compareCodePoints).map((place) => JSON.parse(place) as Location),
        },
        ...(durable !== undefined && { durable }),
      }));
  }

  #user(id: string): Known {
    let user = this.#users.get(id);
    if (user === undefined) {
      user = { places: new Set(), durable: undefined };
      this.#users.set(id, user);
    }
    return user;
  }
}
