import { compareCodePoints } from '@rollcall/protocol';
import type { Presence, PresenceFilter } from '../core/presence-reading.ts';
import type { ToldEvent } from '../presence/presence-store.ts';
import type { Json } from '../store/store.ts';
import type { DurableLocations, DurablePlace } from './durable-locations.ts';
import type { GroupView } from './group-view.ts';
import { locationTest } from './location-test.ts';
import { departed, durable, type ReaderEvent } from './reader-event.ts';

export type { DurablePlace } from './durable-locations.ts';
export type DurableTold = Extract<ToldEvent, { type: 'durable' }>;

/**
 * What readers of one filter see of a group: some of the ephemeral places, and the latest durable one of each user. The
 * locations are stored once for the group: a view has its filter, and a bit for each durable location that it shows.
 */
export class FilteredView {
  readonly filter: PresenceFilter;
  readonly passes: (location: Json) => boolean;
  /** Of those who may be seen. */
  readonly #durable: DurableLocations;
  /** Null when the view is closed. */
  #number: number | null;

  constructor(filter: PresenceFilter, durable: DurableLocations) {
    this.filter = filter;
    this.passes = locationTest(filter.location);
    this.#durable = durable;
    this.#number = durable.open();
  }

  /** The view shows nothing from now on, and learns nothing. Idempotent. */
  close(): void {
    if (this.#number !== null) this.#durable.close(this.#number);
    this.#number = null;
  }

  durableOf(userId: string): DurablePlace | null {
    return this.#number === null ? null : this.#durable.get(this.#number, userId);
  }

  durableUserIds(): string[] {
    return this.#number === null ? [] : [...this.#durable.shownBy(this.#number)];
  }

  /** Takes all durable places as they were read. */
  learn(places: ReadonlyMap<string, DurablePlace>): void {
    if (this.#number === null) return;
    this.#durable.clear(this.#number);
    for (const [userId, place] of places) this.#durable.set(this.#number, userId, place);
  }

  /** What is seen of a change of ephemeral places. A move to a place that the filter hides is a departure. */
  filtered(event: ReaderEvent): ReaderEvent | null {
    if (event.type !== 'arrived') return this.passes(event.location) ? event : null;
    const { userId, location, from, isNew } = event;
    const leaves = from !== null && this.passes(from);
    if (!this.passes(location)) return leaves ? departed(userId, from, 'moved') : null;
    if (leaves || from === null) return event;
    return isNew ? { ...event, from: null } : null;
  }

  /**
   * Whether the durable location that readers know of the user may have ended because of a bound, and the filter hides the
   * one that was set. Of the user's later locations one may pass the filter, so it has to be read.
   */
  endsShown({ userId, location, endedTo }: DurableTold): boolean {
    const known = this.durableOf(userId);
    return known !== null && endedTo !== undefined && known.at <= endedTo && !this.passes(location);
  }

  /**
   * What is seen of a durable place that was set; null when that cannot be told without reading it again. It may have been
   * read here before it is told: then it is told all the same, to those who came back and do not know it.
   */
  place(told: DurableTold): ReaderEvent[] | null {
    const { userId, location, at, left } = told;
    const known = this.durableOf(userId);
    if (known?.location === location && known.at === at) return [durable(userId, location, at)];
    if (known !== null && at <= known.at) return null;
    if (this.passes(location)) return this.replace({ location, at }, told);
    return left !== null && this.passes(left) ? null : [];
  }

  /** Takes what was read for an event that says where the user left from: told whether or not it was known. */
  replace(place: DurablePlace | null, { userId, left, endedTo }: DurableTold): ReaderEvent[] {
    const known = this.durableOf(userId);
    const isEnded = known !== null && endedTo !== undefined && known.at <= endedTo;
    const events = this.set(userId, place, isEnded ? 'removed' : 'moved');
    if (events.length > 0) return events;
    if (place !== null) return [durable(userId, place.location, place.at)];
    return left !== null && this.passes(left) ? [departed(userId, left, 'moved', true)] : [];
  }

  /** Takes a user's latest durable place as it was read, or null where there is none (any more). */
  set(userId: string, place: DurablePlace | null, reason: 'moved' | 'removed' = 'moved'): ReaderEvent[] {
    const known = this.durableOf(userId);
    if (place === null) {
      this.#setDurable(userId, null);
      return known === null ? [] : [departed(userId, known.location, reason, true)];
    }
    this.#setDurable(userId, place);
    const isKnown = known?.location === place.location && known.at === place.at;
    return isKnown ? [] : [durable(userId, place.location, place.at)];
  }

  /** The user may not be seen any more. */
  hide(userId: string): ReaderEvent[] {
    const known = this.durableOf(userId);
    this.#setDurable(userId, null);
    return known === null ? [] : [departed(userId, known.location, 'removed', true)];
  }

  /** The user as the reading has them; null where the filter shows nothing of them. */
  presenceOf(userId: string, group: GroupView): Presence | null {
    const visible = group.isVisible(userId) ? group.placesOf(userId) : [];
    const locations = visible.filter(this.passes).sort(compareCodePoints);
    const latest = this.durableOf(userId);
    return locations.length > 0 || latest !== null ? { userId, locations, durable: latest } : null;
  }

  #setDurable(userId: string, place: DurablePlace | null): void {
    if (this.#number !== null) this.#durable.set(this.#number, userId, place);
  }
}
