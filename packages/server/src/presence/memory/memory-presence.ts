import { setImmediate as nextIteration } from 'node:timers/promises';
import { compareCodePoints, limits } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { locationTest } from '../location-pairs.ts';
import {
  type Expiry,
  type GroupEvent,
  type LeaveReason,
  type PresenceChange,
  type PresenceScope,
  type PresenceSnapshot,
  type PresenceStore,
  type PresenceUpdate,
  type PresenceWatch,
  type PresenceWatcher,
  type PresentUser,
  type PresentUsers,
  READING_MAX_BYTES,
  READING_MAX_PRESENCES,
  SNAPSHOT_MAX,
  UNCHANGED,
} from '../presence-store.ts';
import { regionName } from '../region-name.ts';
import { Deadlines } from './deadlines.ts';
import { detachedClone, detachString } from './detach.ts';
import { GroupLogs } from './group-logs.ts';
import { type Directory, Presence } from './presence.ts';
import { PresentGroup } from './present-group.ts';
import { ScopedMap } from './scoped-map.ts';

/** How many presences a sweep visits in one event-loop tick: one or two milliseconds. */
const SWEPT_PER_TICK = 256;
/** Most user IDs of one `usersRemoved` event. */
const REMOVED_PER_EVENT = 1_000;
/** A longer region is stored as its hash. Shorter ones share their text with others. */
const REGION_NAME_MAX = 256;

/** Creates the embedded PresenceStore (see the port), in the memory of this process. */
export function createMemoryPresence(): PresenceStore {
  return new MemoryPresence();
}

/** Every method does its work without awaiting anything, which makes it one atomic step. */
class MemoryPresence implements PresenceStore {
  readonly #groups = new ScopedMap<PresentGroup>();
  readonly #deadlines = new Deadlines();
  readonly #logs = new GroupLogs();

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    this.#groups.clear();
    this.#deadlines.clear();
    this.#logs.clear();
  }

  async set(update: PresenceUpdate): Promise<PresenceChange> {
    const { userId, location, expiresAt, now } = update;
    const region = regionName(update.region, REGION_NAME_MAX);
    const group = this.#groups.find(update);
    const presence = group?.directory.find(userId, region);
    if (group !== undefined && presence?.incarnation !== update.incarnation) {
      // The group is another object afterwards: it is dropped with its last presence.
      if (this.#endOtherMembership(group, update)) return this.set(update);
    }
    if (group === undefined || presence === undefined) return this.#arrive(group, region, update);
    if (presence.location !== location) return this.#move(group, presence, update);
    const isRefresh = presence.expiresAt > now;
    if (isRefresh) {
      this.#deadlines.change(presence, expiresAt);
      return UNCHANGED;
    }
    const arrived = !isPresent(group.directory.at(userId, location), now);
    this.#deadlines.change(presence, expiresAt);
    return this.#published(presence, { arrived, created: true, departed: null }, now);
  }

  async clear(presence: PresenceScope & { userId: string; location: Json; now: number }): Promise<boolean> {
    const there = this.#groups.find(presence)?.directory.at(presence.userId, presence.location) ?? [];
    // An expired presence is left to the sweep, which reports it.
    if (!isPresent(there, presence.now)) return false;
    for (const ended of there) this.#remove(ended);
    const [{ userId, location }] = there as [Presence];
    this.#logs.append(presence, { type: 'departed', userId, location, reason: 'absent' }, presence.now);
    return true;
  }

  async find(reading: Parameters<PresenceStore['find']>[0]): Promise<PresentUsers> {
    return this.#find(reading);
  }

  async locationsOf(reading: Parameters<PresenceStore['locationsOf']>[0]): Promise<Json[]> {
    const presences = this.#groups.find(reading)?.directory.of(reading.userId) ?? [];
    if (presences[0]?.incarnation !== reading.incarnation) return [];
    return presentLocations(presences, reading.now, () => true);
  }

  async removeUsers(scope: PresenceScope, userIds: readonly string[], now: number): Promise<void> {
    for (const userId of userIds) {
      for (const presence of this.#groups.find(scope)?.directory.of(userId) ?? []) this.#remove(presence);
    }
    const log = this.#logs.find(scope, now);
    if (log === undefined) return;
    for (let from = 0; from < userIds.length; from += REMOVED_PER_EVENT) {
      log.append({
        type: 'usersRemoved',
        userIds: detachedClone(userIds.slice(from, from + REMOVED_PER_EVENT)),
      });
    }
  }

  async removeGroup(scope: PresenceScope, now: number): Promise<void> {
    const group = this.#groups.find(scope);
    if (group !== undefined) {
      this.#removeDeadlines(group);
      this.#groups.remove(group);
    }
    this.#logs.append(scope, { type: 'groupRemoved' }, now);
  }

  async removeProject(project: ProjectKey, now: number): Promise<void> {
    for (const group of this.#groups.of(project)) this.#removeDeadlines(group);
    this.#groups.removeProject(project);
    for (const log of this.#logs.of(project, now)) log.append({ type: 'groupRemoved' });
  }

  async sweep(now: number): Promise<Expiry[]> {
    const expiries: Expiry[] = [];
    let visited = 0;
    for (const due of this.#deadlines.takeDue(now)) {
      if (due !== null) this.#expire(due, now, expiries);
      visited += 1;
      if (visited % SWEPT_PER_TICK === 0) await nextIteration();
    }
    this.#logs.sweep(now);
    return expiries;
  }

  async watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch> {
    return this.#logs.watch(scope, now, watcher);
  }

  async watchedGroups(project: ProjectKey, now: number): Promise<string[]> {
    return this.#logs.of(project, now).map(({ groupId }) => groupId);
  }

  async publish(scope: PresenceScope, event: GroupEvent, now: number): Promise<void> {
    this.#logs.find(scope, now)?.append(detachedClone(event));
  }

  async snapshot(reading: Parameters<PresenceStore['snapshot']>[0]): Promise<PresenceSnapshot> {
    const limit = Math.min(reading.limit, SNAPSHOT_MAX);
    const { users, next } = this.#find({ ...reading, limit, filter: null });
    return { users, next, offset: this.#logs.find(reading, reading.now)?.offset ?? 0 };
  }

  #find(reading: Parameters<PresenceStore['find']>[0]): PresentUsers {
    const { filter, after, limit, now } = reading;
    const users: PresentUser[] = [];
    const directory = this.#groups.find(reading)?.directory;
    if (directory === undefined) return { users, next: null };
    const passes = locationTest(filter);
    let presences = 0;
    let bytes = 0;
    let last: string | null = null;
    for (const userId of directory.candidates(filter, passes, after)) {
      if (userId === last) continue;
      const isOver = presences >= READING_MAX_PRESENCES || bytes >= READING_MAX_BYTES;
      if (users.length === limit || isOver) return { users, next: last };
      last = userId;
      const there = directory.of(userId);
      const locations = presentLocations(there, now, passes);
      presences += there.length;
      bytes += bytesOf(locations);
      const [first] = there;
      if (first !== undefined && locations.length > 0) {
        users.push({ userId, incarnation: first.incarnation, locations });
      }
    }
    return { users, next: null };
  }

  /** True where presences of another membership were ended. All presences of a user belong to one. */
  #endOtherMembership({ directory }: PresentGroup, { userId, incarnation, now }: PresenceUpdate): boolean {
    const own = directory.of(userId);
    if (own[0] === undefined || own[0].incarnation === incarnation) return false;
    for (const presence of own) {
      this.#end(presence, presence.expiresAt <= now ? 'expired' : 'removed', now);
    }
    return true;
  }

  /** Adds a presence to a region where the user has none. */
  #arrive(known: PresentGroup | undefined, region: string, update: PresenceUpdate): PresenceChange {
    const group = known ?? this.#addGroup(update);
    const arrived = !isPresent(group.directory.at(update.userId, update.location), update.now);
    const presence = newPresence(group, region, update);
    group.add(presence);
    this.#deadlines.add(presence);
    const change = this.#published(presence, { arrived, created: true, departed: null }, update.now);
    this.#enforceBounds(presence, update.now);
    return change;
  }

  #move(group: PresentGroup, presence: Presence, update: PresenceUpdate): PresenceChange {
    const { directory } = group;
    const { location: left } = presence;
    const { userId, location, now } = update;
    const arrived = !isPresent(directory.at(userId, location), now);
    const created = presence.expiresAt <= now;
    directory.move(presence, directory.textOf(location) ?? detachString(location));
    this.#deadlines.change(presence, update.expiresAt);
    const others = directory.at(userId, left);
    const departed = isPresent(others, now) ? null : left;
    // This reports the departure, so no sweep may.
    if (departed !== null) for (const ended of others) this.#remove(ended);
    const change = this.#published(presence, { arrived, created, departed }, now);
    this.#enforceBounds(presence, now);
    return change;
  }

  /**
   * Ends presences of the user other than the latest, the earliest deadline first, until they are within the bounds. A few, which cannot
   * exceed a bound, are only counted.
   */
  #enforceBounds(latest: Presence, now: number): void {
    const own = latest.group.directory.of(latest.userId);
    let count = own.length;
    if (count * limits.LOCATION_MAX_BYTES <= limits.EPHEMERAL_LOCATIONS_MAX_BYTES) return;
    let bytes = bytesOf(own.map(({ location }) => location));
    const isWithin = () =>
      count <= limits.EPHEMERAL_LOCATIONS_MAX && bytes <= limits.EPHEMERAL_LOCATIONS_MAX_BYTES;
    if (isWithin()) return;
    for (const presence of own.toSorted((a, b) => a.expiresAt - b.expiresAt)) {
      if (isWithin()) return;
      if (presence === latest) continue;
      count -= 1;
      bytes -= Buffer.byteLength(presence.location);
      this.#end(presence, presence.expiresAt <= now ? 'expired' : 'removed', now);
    }
  }

  /** Publishes the change to watchers, where there is one. */
  #published(presence: Presence, change: PresenceChange, now: number): PresenceChange {
    const { group, userId, incarnation, location } = presence;
    const { arrived, departed: from } = change;
    if (arrived || from !== null) {
      this.#logs.append(group, { type: 'arrived', userId, incarnation, location, from }, now);
    }
    return change;
  }

  #expire(presence: Presence, now: number, expiries: Expiry[]): void {
    const { group, userId, location } = presence;
    const isLeft = this.#end(presence, 'expired', now);
    if (isLeft) expiries.push({ project: group.project, groupId: group.groupId, userId, location });
  }

  /** True where the user left the location: no other region has it, expired or not. */
  #end(presence: Presence, reason: LeaveReason, now: number): boolean {
    const { group, userId, location } = presence;
    this.#remove(presence);
    if (group.directory.at(userId, location).length > 0) return false;
    this.#logs.append(group, { type: 'departed', userId, location, reason }, now);
    return true;
  }

  #remove(presence: Presence): void {
    this.#deadlines.remove(presence);
    presence.group.remove(presence);
    if (presence.group.isEmpty) this.#groups.remove(presence.group);
  }

  #addGroup({ project, groupId }: PresenceScope): PresentGroup {
    const group = new PresentGroup(project, detachString(groupId));
    this.#groups.add(group);
    return group;
  }

  #removeDeadlines(group: PresentGroup): void {
    for (const presence of group.directory.all()) this.#deadlines.remove(presence);
  }
}

/** A new presence, which shares its texts with others that have the same. */
function newPresence(group: PresentGroup, regionText: string, update: PresenceUpdate): Presence {
  const { directory } = group;
  const membership = { userId: sharedUserId(directory, update.userId), incarnation: update.incarnation };
  const location = directory.textOf(update.location) ?? detachString(update.location);
  const isOwnRegion = regionText === update.location;
  const region = isOwnRegion ? location : (directory.textOf(regionText) ?? detachString(regionText));
  return new Presence(group, membership, region, location, update.expiresAt);
}

function sharedUserId(directory: Directory, userId: string): string {
  for (const presence of directory.of(userId)) return presence.userId;
  return detachString(userId);
}

function isPresent(presences: readonly Presence[], now: number): boolean {
  return presences.some((presence) => presence.expiresAt > now);
}

/** The live locations, each once, in ascending order. */
function presentLocations(
  presences: readonly Presence[],
  now: number,
  passes: (location: Json) => boolean,
): Json[] {
  const locations: Json[] = [];
  for (const { location, expiresAt } of presences) {
    if (expiresAt > now && passes(location)) locations.push(location);
  }
  if (locations.length < 2) return locations;
  return locations.sort(compareCodePoints).filter((location, index) => location !== locations[index - 1]);
}

function bytesOf(locations: readonly Json[]): number {
  let bytes = 0;
  for (const location of locations) bytes += Buffer.byteLength(location);
  return bytes;
}
