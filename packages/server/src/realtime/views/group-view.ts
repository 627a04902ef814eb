import { compareCodePoints } from '@rollcall/protocol';
import type { LeaveReason, PresenceEvent, PresentUser } from '../../presence/presence-store.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import { arrived, dataOf, departed, type ReaderEvent } from '../events/reader-event.ts';

type Arrival = Extract<PresenceEvent, { type: 'arrived' }>;
type DataChange = Extract<PresenceEvent, { type: 'data' }>;

interface Member {
  /** In no order. Replaced by a longer array where it grows: one that grows in place takes room for 16 more. */
  locations: Json[];
  /** By location; null while none has data, as mostly. */
  data: Map<Json, Json> | null;
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

  /** The data of each of these locations of the user; null where none of them has any. */
  dataOf(userId: string, locations: readonly Json[]): (Json | null)[] | null {
    const data = this.#members.get(userId)?.data ?? null;
    return data === null ? null : locations.map((location) => data.get(location) ?? null);
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
  add({ userId, locations, data, incarnation }: PresentUser, isVisible: boolean): void {
    if (locations.length === 0) return;
    const member: Member = { locations: [...locations], data: null, incarnation, isVisible };
    for (const [index, one] of (data ?? []).entries()) {
      setData(member, locations[index] as Json, one);
    }
    this.#add(userId, member);
  }

  /**
   * A user with a new membership is visible: only eligible users are set present. The presence of an earlier membership has departed
   * before.
   */
  arrive({ userId, incarnation, location, from: left, data: brought }: Arrival): ReaderEvent[] {
    const data = brought ?? null;
    let member = this.#members.get(userId);
    if (member === undefined) {
      member = { locations: [], data: null, incarnation, isVisible: true };
      this.#add(userId, member);
    }
    member.isVisible ||= member.incarnation !== incarnation;
    member.incarnation = incarnation;
    const { from, isNew } = move(member, left, location);
    const hasOtherData = setData(member, location, data);
    if (!member.isVisible) return [];
    const isArrival = isNew || from !== null;
    const events: ReaderEvent[] = isArrival ? [arrived(userId, location, from, isNew)] : [];
    // To a reader an arrival has no data.
    if ((isArrival && data !== null) || (hasOtherData && !isNew)) events.push(dataOf(userId, location, data));
    return events;
  }

  changeData({ userId, location, data }: DataChange): ReaderEvent[] {
    const member = this.#members.get(userId);
    if (member === undefined || !member.locations.includes(location)) return [];
    return setData(member, location, data) && member.isVisible ? [dataOf(userId, location, data)] : [];
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
    return member.locations.flatMap((location): ReaderEvent[] => {
      if (!isVisible) return [departed(userId, location, 'removed')];
      const data = member.data?.get(location);
      const arrival = arrived(userId, location);
      return data === undefined ? [arrival] : [arrival, dataOf(userId, location, data)];
    });
  }

  #add(userId: string, member: Member): void {
    this.#members.set(userId, member);
    this.#sortedIds = null;
  }

  #delete(userId: string): void {
    if (this.#members.delete(userId)) this.#sortedIds = null;
  }
}

/** Sets the user at a location, in place of the one that was left: it is `from` where the user was there. */
function move(member: Member, left: Json | null, location: Json): { from: Json | null; isNew: boolean } {
  const from = left !== null && member.locations.includes(left) ? left : null;
  const isNew = from === location || !member.locations.includes(location);
  if (from === null && isNew) member.locations = member.locations.concat(location);
  if (from === null) return { from, isNew };
  setData(member, from, null);
  if (isNew) member.locations[member.locations.indexOf(from)] = location;
  else without(member, from);
  return { from, isNew };
}

/** Takes a location away; false when the user was not there. */
function without(member: Member, location: Json): boolean {
  const index = member.locations.indexOf(location);
  if (index === -1) return false;
  member.locations.splice(index, 1);
  setData(member, location, null);
  return true;
}

/** True where the data are others now. */
function setData(member: Member, location: Json, data: Json | null): boolean {
  if ((member.data?.get(location) ?? null) === data) return false;
  if (data !== null) {
    member.data ??= new Map();
    member.data.set(location, data);
  } else if (member.data?.delete(location) === true && member.data.size === 0) member.data = null;
  return true;
}
