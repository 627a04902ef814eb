import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { PresenceScope } from '../presence-store.ts';

/** A link of a circular list; a single link refers to itself. */
export class Link {
  previous: Link = this;
  next: Link = this;

  get isAlone(): boolean {
    return this.next === this;
  }

  insertBefore(link: Link): void {
    this.previous = link.previous;
    this.next = link;
    link.previous.next = this;
    link.previous = this;
  }

  unlink(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this;
    this.next = this;
  }
}

/** A user's membership of the group. */
export interface Membership {
  readonly userId: string;
  readonly incarnation: Incarnation;
}

/** One region's location of one user in one group. There are many of these, so every field costs memory. */
export class Presence extends Link {
  readonly group: PresenceGroup;
  readonly userId: string;
  readonly incarnation: Incarnation;
  readonly region: Json;
  location: Json;
  expiresAt: number;

  constructor(group: PresenceGroup, membership: Membership, region: Json, location: Json, expiresAt: number) {
    super();
    this.group = group;
    this.userId = membership.userId;
    this.incarnation = membership.incarnation;
    this.region = region;
    this.location = location;
    this.expiresAt = expiresAt;
  }
}

/** The group of a presence. */
export interface PresenceGroup extends PresenceScope {
  readonly directory: Directory;
  readonly isEmpty: boolean;
  remove(presence: Presence): void;
}

/** The presences of one group, expired ones included until they are removed. */
export interface Directory {
  readonly size: number;
  all(): Iterable<Presence>;
  /** The presence that the user has in the region. */
  find(userId: string, region: Json): Presence | undefined;
  /** The user's presences, one a region, as they are now. */
  of(userId: string): readonly Presence[];
  /** Those of them that are at the location. */
  at(userId: string, location: Json): readonly Presence[];
  /** User IDs after `after`, ascending, perhaps repeated: all at locations that pass the filter, and perhaps others. */
  candidates(
    filter: LocationFilter,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string>;
  /** The one string that all presences with this location or region share; undefined where there is none. */
  textOf(text: Json): Json | undefined;

  /** Adds a presence; its user has none in its region. */
  add(presence: Presence): void;
  /** Removes a presence of the directory. */
  remove(presence: Presence): void;
  /** Moves a presence of the directory to another location. */
  move(presence: Presence, location: Json): void;
}
