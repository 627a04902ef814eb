import { compareCodePoints } from '@rollcall/protocol';
import type { LeaveReason, PresenceEvent } from '../../presence/presence-store.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import { arrived, departed, type ReaderEvent } from '../events/reader-event.ts';

type Arrival = Extract<PresenceEvent, { type: 'arrived' }>;

interface Member {
  locations: Json[];
  /** The membership for which the locations were set. */
  incarnation: Incarnation;
  /** A user who is not active or not a member is followed like the others, and not shown. */
  isVisible: boolean;
}

/** The ephemeral presence of a group. Each change returns the events of a reader who sees every location. */
export class GroupView {
  readonly #members = new Map<string, Member>();
  /** Until a user is added or removed. */
  #sortedIds: readonly string[] | null = null;

  /** The number of present users. */
  get size(): number {
    return this.#members.size;
  }

  has(userId: string): boolean {
    return this.#members.has(userId);
  }

  isVisible(userId: string): boolean {
    return this.#members.get(userId)?.isVisible === true;
  }

  /** The membership for which the user is present; null where the user is not present. */
  incarnationOf(userId: string): Incarnation | null {
    return this.#members.get(userId)?.incarnation ?? null;
  }

  /** Empty where the user may not be seen. */
  visibleLocationsOf(userId: string): readonly Json[] {
    const member = this.#members.get(userId);
    return member?.isVisible === true ? member.locations : [];
  }

  userIds(): IterableIterator<string> {
    return this.#members.keys();
  }

  /** In order of ID, for the snapshots of all filters. */
  sortedUserIds(): readonly string[] {
    this.#sortedIds ??= [...this.#members.keys()].sort(compareCodePoints);
    return this.#sortedIds;
  }

  /** Takes a user as it was read. */
  add(userId: string, locations: readonly Json[], incarnation: Incarnation, isVisible: boolean): void {
    if (locations.length > 0) this.#add(userId, { locations: [...locations], incarnation, isVisible });
  }

  /** A new user is visible: only eligible users are set present. */
  arrive({ userId, incarnation, location, from: left }: Arrival): ReaderEvent[] {
    let member = this.#members.get(userId);
    if (member === undefined) {
      member = { locations: [], incarnation, isVisible: true };
      this.#add(userId, member);
    }
    member.incarnation = incarnation;
    const from = left !== null && without(member, left) ? left : null;
    const isNew = !member.locations.includes(location);
    if (isNew) member.locations.push(location);
    return member.isVisible && (isNew || from !== null) ? [arrived(userId, location, from, isNew)] : [];
  }

  depart(userId: string, location: Json, reason: LeaveReason): ReaderEvent[] {
    const member = this.#members.get(userId);
    if (member === undefined || !without(member, location)) return [];
    if (member.locations.length === 0) this.#delete(userId);
    return member.isVisible ? [departed(userId, location, reason)] : [];
  }

  remove(userId: string): ReaderEvent[] {
    const events = this.setVisible(userId, false);
    this.#delete(userId);
    return events;
  }

  setVisible(userId: string, isVisible: boolean): ReaderEvent[] {
    const member = this.#members.get(userId);
    if (member === undefined || member.isVisible === isVisible) return [];
    member.isVisible = isVisible;
    return member.locations.map((location) =>
      isVisible ? arrived(userId, location) : departed(userId, location, 'removed'),
    );
  }

  #add(userId: string, member: Member): void {
    this.#members.set(userId, member);
    this.#sortedIds = null;
  }

  #delete(userId: string): void {
    if (this.#members.delete(userId)) this.#sortedIds = null;
  }
}

/** Takes a location away; false when the user was not there. */
function without(member: Member, location: Json): boolean {
  const index = member.locations.indexOf(location);
  if (index === -1) return false;
  member.locations.splice(index, 1);
  return true;
}
