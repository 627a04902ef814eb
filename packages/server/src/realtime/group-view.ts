import type { LeaveReason, PresenceEvent } from '../presence/presence-store.ts';
import type { Incarnation, Json } from '../store/store.ts';
import { arrived, departed, type ReaderEvent } from './reader-event.ts';

type Placed = Extract<PresenceEvent, { type: 'placed' }>;

interface Member {
  places: Json[];
  /** Of the membership to which the places belong. */
  incarnation: Incarnation;
  /** Who is not active or no member is followed like everybody else, and not shown. */
  isVisible: boolean;
}

/** Who is where ephemerally in a group. What happens gives the events that tell it to a reader who sees every place. */
export class GroupView {
  readonly #members = new Map<string, Member>();
  #version = 0;

  /** Changes whenever a user is added or removed. */
  get version(): number {
    return this.#version;
  }

  /** How many users there are. */
  get size(): number {
    return this.#members.size;
  }

  has(userId: string): boolean {
    return this.#members.has(userId);
  }

  isVisible(userId: string): boolean {
    return this.#members.get(userId)?.isVisible === true;
  }

  /** Of the membership for which the user is present; null where the user is nowhere. */
  incarnationOf(userId: string): Incarnation | null {
    return this.#members.get(userId)?.incarnation ?? null;
  }

  placesOf(userId: string): readonly Json[] {
    return this.#members.get(userId)?.places ?? [];
  }

  userIds(): string[] {
    return [...this.#members.keys()];
  }

  /** Takes a user as they were read. */
  learn(userId: string, places: readonly Json[], incarnation: Incarnation, isVisible: boolean): void {
    if (places.length > 0) this.#add(userId, { places: [...places], incarnation, isVisible });
  }

  /** Somebody who was not known may be seen: they could not have come otherwise. */
  place({ userId, incarnation, location, left }: Placed): ReaderEvent[] {
    let member = this.#members.get(userId);
    if (member === undefined) {
      member = { places: [], incarnation, isVisible: true };
      this.#add(userId, member);
    }
    member.incarnation = incarnation;
    const { places } = member;
    const from = left !== null && without(member, left) ? left : null;
    const isNew = !places.includes(location);
    if (isNew) member.places.push(location);
    return member.isVisible && (isNew || from !== null) ? [arrived(userId, location, from, isNew)] : [];
  }

  leave(userId: string, location: Json, reason: LeaveReason): ReaderEvent[] {
    const member = this.#members.get(userId);
    if (member === undefined || !without(member, location)) return [];
    if (member.places.length === 0) this.#remove(userId);
    return member.isVisible ? [departed(userId, location, reason)] : [];
  }

  remove(userId: string): ReaderEvent[] {
    const events = this.hide(userId);
    this.#remove(userId);
    return events;
  }

  hide(userId: string): ReaderEvent[] {
    return this.#turn(userId, false, (location) => departed(userId, location, 'removed'));
  }

  show(userId: string): ReaderEvent[] {
    return this.#turn(userId, true, (location) => arrived(userId, location));
  }

  #add(userId: string, member: Member): void {
    this.#members.set(userId, member);
    this.#version += 1;
  }

  #remove(userId: string): void {
    if (this.#members.delete(userId)) this.#version += 1;
  }

  #turn(userId: string, isVisible: boolean, tell: (location: Json) => ReaderEvent): ReaderEvent[] {
    const member = this.#members.get(userId);
    if (member === undefined || member.isVisible === isVisible) return [];
    member.isVisible = isVisible;
    return member.places.map(tell);
  }
}

/** Takes a place away; false when they were not there. */
function without(member: Member, location: Json): boolean {
  const index = member.places.indexOf(location);
  if (index === -1) return false;
  member.places.splice(index, 1);
  return true;
}
