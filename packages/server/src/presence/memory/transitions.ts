import type { Json } from '../../values/json.ts';
import type { LeaveReason, PresenceChange, PresenceUpdate } from '../presence-store.ts';
import { detached } from './detached.ts';
import { excessOf } from './excess.ts';
import type { GroupLogs } from './group-logs.ts';
import { type Directory, Presence } from './presence.ts';
import { newRecord, type PresenceRecords } from './presence-records.ts';
import type { PresentGroup } from './present-group.ts';
import { dataAt, inRegion, isKnownAt, isLive, isNewest, newestAt, newestOf } from './shown.ts';

/** Removes a presence from its group, and the group when it was the last one. */
type Remove = (presence: Presence) => void;

/**
 * The changes of a user's presences, with their events. A change can replace the directory of a group, so none refers to it
 * for long. Watchers know of each region the location of its newest presence, until
 * it is removed: also when its deadline has passed.
 */
export class Transitions {
  readonly #records: PresenceRecords;
  readonly #logs: GroupLogs;
  readonly #remove: Remove;

  constructor(records: PresenceRecords, logs: GroupLogs, remove: Remove) {
    this.#records = records;
    this.#logs = logs;
    this.#remove = remove;
  }

  /** Extends a live presence at the same location. */
  refresh(presence: Presence, update: PresenceUpdate): void {
    this.#records.renew(presence, update.lease, update.expiresAt);
    if (update.data === undefined || !this.#records.setData(presence, update.data)) return;
    const { group, userId, location } = presence;
    if (newestOf(newestAt(group.directory.of(userId), location)) !== presence) return;
    this.#logs.append(
      group,
      { type: 'data', userId, location, data: presence.record?.data ?? null },
      update.now,
    );
  }

  /** Sets a presence that is new, ended, or at another location; it is in the group already unless it is null. */
  change(
    group: PresentGroup,
    known: Presence | null,
    region: string,
    update: PresenceUpdate,
  ): PresenceChange {
    const { userId, location, now } = update;
    const before = group.directory.of(userId);
    const others = inRegion(before, region);
    const left = newestOf(others)?.location ?? null;
    const created = !others.some((presence) => isLive(presence, now));
    const arrived = !isKnownAt(before, location, now);
    const dataBefore = dataAt(before, location);
    const leftData = left === null ? null : dataAt(before, left);
    const isAlone = before.every(
      (other) => other === known || (other.region !== region && other.location !== location),
    );
    const presence = known === null ? this.#add(group, region, update) : this.#moved(known, update);
    if (presence.record !== null || !isAlone)
      this.#records.recordOf(presence).order = this.#records.nextOrder();
    const own = known === null ? group.directory.of(userId) : before;
    const departed = left !== null && left !== location && !isKnownAt(own, left, now) ? left : null;
    const data = dataAt(own, location);
    if (arrived || departed !== null) this.#arrive(presence, departed, data, now);
    else this.#publishData(presence, location, dataBefore, now);
    if (departed !== null) this.#dropAt(own, departed, now);
    else if (left !== null && left !== location) this.#publishData(presence, left, leftData, now);
    this.#enforceBounds(presence, now);
    return { arrived, created, departed };
  }

  /** Ends these presences of a user at one location. @returns whether the user left the location, for no other one */
  end(presences: readonly Presence[], reason: LeaveReason, now: number): boolean {
    const [{ group, userId, location: left }] = presences as [Presence];
    const before = group.directory.of(userId);
    const newest = presences.filter((presence) => isNewest(before, presence));
    const data = dataAt(before, left);
    for (const presence of presences) this.#remove(presence);
    if (newest.length === 0) return false;
    const followers = this.#followersOf(newest, now);
    const remaining = newestAt(group.directory.of(userId), left);
    const elsewhere = followers.filter(({ location }) => location !== left);
    const from = this.#follow(elsewhere, remaining.length === 0 ? left : null, now);
    if (remaining.length > 0) this.#publishData(remaining[0] as Presence, left, data, now);
    else if (from !== null)
      this.#logs.append(group, { type: 'departed', userId, location: left, reason }, now);
    return from !== null;
  }

  #add(group: PresentGroup, regionText: string, update: PresenceUpdate): Presence {
    const { directory } = group;
    const membership = { userId: sharedUserId(directory, update.userId), incarnation: update.incarnation };
    const location = directory.textOf(update.location) ?? update.location;
    const isOwnRegion = regionText === update.location;
    const region = isOwnRegion ? location : (directory.textOf(regionText) ?? regionText);
    const presence = new Presence(group, membership, region, location, update.expiresAt);
    if (update.connection !== undefined) presence.record = newRecord(detached(update.connection));
    group.add(presence);
    this.#records.renew(presence, update.lease, update.expiresAt);
    this.#records.setData(presence, update.data ?? null);
    return presence;
  }

  #moved(presence: Presence, update: PresenceUpdate): Presence {
    const { location, data, now } = update;
    const { directory } = presence.group;
    const wasLive = isLive(presence, now);
    if (location !== presence.location) directory.move(presence, directory.textOf(location) ?? location);
    this.#records.renew(presence, update.lease, update.expiresAt);
    // The data of a presence end with it.
    if (data !== undefined || !wasLive) this.#records.setData(presence, data ?? null);
    return presence;
  }

  /**
   * The newest live presences of the regions of these removed ones. Those whose deadline passed are removed: watchers do not know
   * their locations. Find all of them before an event: the data of a location are those of a presence that stays.
   */
  #followersOf(removed: readonly Presence[], now: number): Presence[] {
    return removed.flatMap(({ group, userId, region }) => {
      const all = inRegion(group.directory.of(userId), region);
      // Before the removal, which takes a presence out of its lease and so changes its deadline.
      const live = all.filter((presence) => isLive(presence, now));
      for (const presence of all) if (!live.includes(presence)) this.#remove(presence);
      return newestOf(live) ?? [];
    });
  }

  /** The departure from this location was published, so no sweep may report it. */
  #dropAt(own: readonly Presence[], location: Json, now: number): void {
    const ended = newestAt(own, location);
    // All of them first: the data of a location are those of its newest presence.
    for (const presence of ended) this.#remove(presence);
    if (ended.length > 0) this.#follow(this.#followersOf(ended, now), null, now);
  }

  /**
   * Publishes that a user is at the locations of these presences, each now the newest of its region. The first arrival is from
   * `from`. @returns `from` where there was none, else null
   */
  #follow(followers: readonly Presence[], from: Json | null, now: number): Json | null {
    let left = from;
    const unknown = new Set(followers);
    for (const next of followers) {
      const { group, userId, location } = next;
      // Only presences that watchers know: the other followers are not published yet.
      const own = group.directory.of(userId);
      const others = newestAt(own, location).filter((other) => !unknown.has(other));
      const before = newestOf(others)?.record?.data ?? null;
      if (others.length > 0 && left === null) this.#publishData(next, location, before, now);
      else this.#arrive(next, left, dataAt(own, location), now);
      left = null;
      unknown.delete(next);
    }
    return left;
  }

  #arrive(presence: Presence, from: Json | null, data: Json | null, now: number): void {
    const { group, userId, incarnation, location } = presence;
    const event = { type: 'arrived' as const, userId, incarnation, location, from };
    this.#logs.append(group, data === null ? event : { ...event, data }, now);
  }

  #publishData({ group, userId }: Presence, location: Json, before: Json | null, now: number): void {
    const data = dataAt(group.directory.of(userId), location);
    if (data !== before) this.#logs.append(group, { type: 'data', userId, location, data }, now);
  }

  #enforceBounds(latest: Presence, now: number): void {
    for (const presence of excessOf(latest.group.directory.of(latest.userId), latest)) {
      // A presence whose deadline passed may have ended with one before it.
      if (presence.group.directory.find(presence.userId, presence.region, presence.connection) !== presence)
        continue;
      this.end([presence], isLive(presence, now) ? 'removed' : 'expired', now);
    }
  }
}

function sharedUserId(directory: Directory, userId: string): string {
  for (const presence of directory.of(userId)) return presence.userId;
  return detached(userId);
}
