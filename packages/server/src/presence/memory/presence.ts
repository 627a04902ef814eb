import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import type { PresentGroup } from './present-group.ts';

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
  readonly group: PresentGroup;
  readonly userId: string;
  readonly incarnation: Incarnation;
  readonly region: Json;
  location: Json;
  expiresAt: number;

  constructor(group: PresentGroup, membership: Membership, region: Json, location: Json, expiresAt: number) {
    super();
    this.group = group;
    this.userId = membership.userId;
    this.incarnation = membership.incarnation;
    this.region = region;
    this.location = location;
    this.expiresAt = expiresAt;
  }
}
