import { compareCodePoints } from '@rollcall/protocol';
import type { PresenceFilter } from '../../core/presence/presence-reading.ts';
import { NO_PROFILE } from '../../core/roster/user-profiles.ts';
import type { GroupEvent } from '../../presence/presence-store.ts';
import type { Json } from '../../values/json.ts';
import { locationTest } from '../../values/location-pairs.ts';
import type { PresenceEntry } from '../../wire/presenters.ts';
import { departed, durable, type ReaderEvent } from '../events/reader-event.ts';
import { type DurableLocation, type DurableLocations, isSameLocation } from './durable-locations.ts';
import type { GroupView } from './group-view.ts';
import type { ShownProfiles } from './shown-profiles.ts';

export type DurableSet = Extract<GroupEvent, { type: 'durable' }>;

/**
 * The part of a group that readers with one filter see: some of the ephemeral locations, and the latest durable
 * one of each user that passes the filter. Locations are stored once for the group; a view has its filter, and a bit for each
 * durable location.
 */
export class FilteredView {
  readonly filter: PresenceFilter;
  readonly passes: (location: Json) => boolean;
  /** The view's number in {@link DurableLocations}. */
  readonly number: number;
  /** Of visible users. */
  readonly #durable: DurableLocations;
  #isClosed = false;

  constructor(filter: PresenceFilter, durable: DurableLocations) {
    this.filter = filter;
    this.passes = locationTest(filter.location);
    this.#durable = durable;
    this.number = durable.open();
  }

  /** The view shows nothing from now on, whatever it is given. Idempotent. */
  close(): void {
    if (!this.#isClosed) this.#durable.close(this.number);
    this.#isClosed = true;
  }

  durableOf(userId: string): DurableLocation | null {
    return this.#isClosed ? null : this.#durable.get(this.number, userId);
  }

  durableUserIds(): string[] {
    return this.#isClosed ? [] : [...this.#durable.shownBy(this.number)];
  }

  allDurable(): Map<string, DurableLocation> {
    return new Map(
      this.durableUserIds().map((userId) => [userId, this.durableOf(userId) as DurableLocation]),
    );
  }

  replaceDurable(locations: ReadonlyMap<string, DurableLocation>): void {
    if (this.#isClosed) return;
    this.#durable.clear(this.number);
    for (const [userId, location] of locations) this.#durable.set(this.number, userId, location);
  }

  /** The event as this filter shows it. A move to a location that it hides is a departure. */
  filtered(event: ReaderEvent): ReaderEvent | null {
    if (event.type === 'user') return this.showsUsers ? event : null;
    if (event.type === 'data' && !this.showsData) return null;
    if (event.type !== 'arrived') return this.passes(event.location) ? event : null;
    if (event.user !== null && !this.showsUsers) return this.filtered({ ...event, user: null });
    const { userId, location, from, isNew } = event;
    const leaves = from !== null && this.passes(from);
    if (!this.passes(location)) return leaves ? departed(userId, from, 'moved') : null;
    if (leaves || from === null) return event;
    return isNew ? { ...event, from: null } : null;
  }

  /**
   * Applies a durable update; null when the user's locations have to be read from the store for it. An update that is already
   * part of the view has its event all the same, for readers who resumed and do not have it.
   */
  applyDurable(update: DurableSet): ReaderEvent[] | null {
    const { userId, location, at, from, endedTo } = update;
    const known = this.durableOf(userId);
    if (isSameLocation(known, update)) return [durable(userId, location, at)];
    if (known !== null && at <= known.at) return null;
    if (this.passes(location)) return this.applyRead(update, { location, at });
    // An older location of the user may pass the filter where one was left, or ended by a bound.
    const isEnded = known !== null && endedTo !== undefined && known.at <= endedTo;
    return isEnded || (from !== null && this.passes(from)) ? null : [];
  }

  /** Applies a durable update with the latest location that passes the filter, which was read for it. */
  applyRead({ userId, from, endedTo }: DurableSet, latest: DurableLocation | null): ReaderEvent[] {
    const known = this.durableOf(userId);
    const isEnded = known !== null && endedTo !== undefined && known.at <= endedTo;
    const events = this.setDurable(userId, latest, isEnded ? 'removed' : 'moved');
    if (events.length > 0) return events;
    if (latest !== null) return [durable(userId, latest.location, latest.at)];
    return from !== null && this.passes(from) ? [departed(userId, from, 'moved', true)] : [];
  }

  /** Sets a user's latest durable location; null where there is none, or the user may not be seen. */
  setDurable(
    userId: string,
    latest: DurableLocation | null,
    reason: 'moved' | 'removed' = 'moved',
  ): ReaderEvent[] {
    const known = this.durableOf(userId);
    if (!this.#isClosed) this.#durable.set(this.number, userId, latest);
    if (latest === null) return known === null ? [] : [departed(userId, known.location, reason, true)];
    if (isSameLocation(known, latest)) return [];
    return [durable(userId, latest.location, latest.at, known === null)];
  }

  get showsData(): boolean {
    return this.filter.expand?.includes('data') === true;
  }

  get showsUsers(): boolean {
    return this.filter.expand?.includes('user') === true;
  }

  /** The user's entry in a reading; null where the filter shows nothing of the user. */
  presenceOf(userId: string, group: GroupView, profiles: ShownProfiles): PresenceEntry | null {
    const locations = group.visibleLocationsOf(userId).filter(this.passes).sort(compareCodePoints);
    const latest = this.durableOf(userId);
    if (locations.length === 0 && latest === null) return null;
    if (this.filter.expand === undefined) return { userId, locations, durable: latest };
    return {
      userId,
      locations,
      ...(this.showsData && { data: group.dataOf(userId, locations) ?? locations.map(() => null) }),
      durable: latest,
      ...(this.showsUsers && { user: profiles.get(userId) ?? NO_PROFILE }),
    };
  }
}
