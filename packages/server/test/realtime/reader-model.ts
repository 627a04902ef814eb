import { canonicalLocation, compareCodePoints, type Location, type PresenceEntry } from '@rollcall/protocol';
import type { StreamEvent } from '../support/event-parser.ts';

type Data = Record<string, unknown> | null;

interface Known {
  /** The locations, each with its data. */
  readonly locations: Map<string, Data>;
  durable: PresenceEntry['durable'];
  /** With `expand=user`. */
  user: PresenceEntry['user'];
}

/** A reader as docs/api.md describes it: it applies events in order, and has the locations of all users. */
export class ReaderModel {
  readonly #users = new Map<string, Known>();
  readonly #showsData: boolean;

  /** @param showsData whether the events are those of `expand=data` */
  constructor(showsData = false) {
    this.#showsData = showsData;
  }

  /** The entries of a reader after these events. */
  static of(events: readonly StreamEvent[]): ReaderModel {
    const model = new ReaderModel();
    for (const event of events) model.take(event);
    return model;
  }

  take({ type, data }: StreamEvent): void {
    if (type === 'snapshot') {
      this.#users.clear();
      for (const { id, ephemeral, durable, user } of data.users as PresenceEntry[]) {
        const locations = new Map(
          ephemeral.locations.map((location, at) => [
            canonicalLocation(location),
            ephemeral.data?.[at] ?? null,
          ]),
        );
        this.#users.set(id, { locations, durable, user });
      }
    }
    if (type === 'arrived') {
      const known = this.#user(data.id);
      const { locations } = known;
      known.user = data.user ?? known.user;
      if (data.from !== undefined) locations.delete(canonicalLocation(data.from));
      locations.set(canonicalLocation(data.location), null);
    }
    if (type === 'departed') {
      const user = this.#user(data.id);
      if (data.durable === true) user.durable = undefined;
      else user.locations.delete(canonicalLocation(data.location));
    }
    if (type === 'data') this.#user(data.id).locations.set(canonicalLocation(data.location), data.data);
    if (type === 'user') this.#user(data.id).user = data.user;
    if (type === 'durable') {
      this.#user(data.id).durable = { location: data.location, timestamp: data.timestamp };
    }
  }

  has(userId: string): boolean {
    return this.entries().some(({ id }) => id === userId);
  }

  /** The entries of a reading. */
  entries(): PresenceEntry[] {
    return [...this.#users]
      .filter(([, { locations, durable }]) => locations.size > 0 || durable !== undefined)
      .sort(([a], [b]) => compareCodePoints(a, b))
      .map(([id, { locations, durable, user }]) => {
        const sorted = [...locations].sort(([a], [b]) => compareCodePoints(a, b));
        return {
          id,
          ephemeral: {
            locations: sorted.map(([location]) => JSON.parse(location) as Location),
            ...(this.#showsData && {
              data: sorted.map(([, data]) => data),
            }),
          },
          ...(durable !== undefined && { durable }),
          ...(user !== undefined && { user }),
        };
      });
  }

  #user(id: string): Known {
    let user = this.#users.get(id);
    if (user === undefined) {
      user = { locations: new Map(), durable: undefined, user: undefined };
      this.#users.set(id, user);
    }
    return user;
  }
}
