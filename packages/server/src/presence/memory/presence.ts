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
interface Membership {
  readonly userId: string;
  readonly incarnation: Incarnation;
}

/** An entry with a deadline: a link of the list of its second. */
export class Deadline extends Link {
  /** In milliseconds since the epoch. Of a presence that belongs to a lease it is not the deadline: see `endsAt`. */
  expiresAt: number;

  constructor(expiresAt: number) {
    super();
    this.expiresAt = expiresAt;
  }
}

/** The deadline of all presences that belong to it. It exists until then, also without any. */
export class Lease extends Deadline {
  readonly group: PresenceGroup;
  readonly name: string;
  readonly presences = new Set<Presence>();
  /** How many updates it has had. */
  updates = 0;

  constructor(group: PresenceGroup, name: string, expiresAt: number) {
    super(expiresAt);
    this.group = group;
    this.name = name;
  }
}

/** The parts of a presence beside its location, where it has a connection or data, or is not the only one of its region or location. */
export interface PresenceRecord {
  /** Null for an update without a connection. */
  readonly connection: string | null;
  /** Of two presences, the one whose location changed later has the greater order. */
  order: number;
  data: Json | null;
  lease: Lease | null;
  /** While the presence is to be released: the deadline that it, or its lease, had before. */
  released: number | null;
}

/**
 * The location of one user in one region, as one connection or the updates without a connection hold it. There are many of
 * these, so every field costs memory.
 */
export class Presence extends Deadline {
  readonly group: PresenceGroup;
  readonly userId: string;
  readonly incarnation: Incarnation;
  readonly region: Json;
  location: Json;
  /** Null for the only presence of its region and location, without connection and data. It is older than all that have one. */
  record: PresenceRecord | null = null;

  constructor(group: PresenceGroup, membership: Membership, region: Json, location: Json, expiresAt: number) {
    super(expiresAt);
    this.group = group;
    this.userId = membership.userId;
    this.incarnation = membership.incarnation;
    this.region = region;
    this.location = location;
  }

  get connection(): string | null {
    return this.record?.connection ?? null;
  }

  get order(): number {
    return this.record?.order ?? 0;
  }

  /** Its deadline, or that of its lease. */
  get endsAt(): number {
    return this.record?.lease?.expiresAt ?? this.expiresAt;
  }
}

export interface PresenceGroup extends PresenceScope {
  readonly directory: Directory;
  readonly leases: Map<string, Lease>;
  readonly isEmpty: boolean;
  remove(presence: Presence): void;
}

/** The presences of one group, expired ones included until they are removed. */
export interface Directory {
  readonly size: number;
  all(): Iterable<Presence>;
  /** The presence that the user has in the region with the connection, or with null without one. */
  find(userId: string, region: Json, connection: string | null): Presence | undefined;
  /** The user's presences as they are now. */
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

  /** Adds a presence; its user has none in its region with its connection. */
  add(presence: Presence): void;
  remove(presence: Presence): void;
  move(presence: Presence, location: Json): void;
}
