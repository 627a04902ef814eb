import { setImmediate as nextIteration } from 'node:timers/promises';
import { locationTest } from '../../values/location-pairs.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import type { ConnectionHold } from '../connection-hold.ts';
import {
  type ConnectionScope,
  type Expiry,
  type GroupEvent,
  type LeaseState,
  type LeaveReason,
  type PresenceChange,
  type PresenceCount,
  type PresenceScope,
  type PresenceStore,
  type PresenceUpdate,
  type PresenceWatch,
  type PresenceWatcher,
  type PresentUser,
  type PresentUsers,
  READING_MAX_BYTES,
  READING_MAX_PRESENCES,
  UNCHANGED,
  type UserLocations,
} from '../presence-store.ts';
import { regionName } from '../region-name.ts';
import { ScopedMap } from '../scoped-map.ts';
import { Deadlines } from './deadlines.ts';
import { detached } from './detached.ts';
import { GroupLogs } from './group-logs.ts';
import { Lease, type Presence } from './presence.ts';
import { PresenceRecords } from './presence-records.ts';
import { PresentGroup, type Tally } from './present-group.ts';
import { bytesOf, isLive, shownLocations } from './shown.ts';
import { Transitions } from './transitions.ts';

/** How many presences a sweep visits in one event-loop tick: one or two milliseconds. */
const SWEPT_PER_TICK = 256;
/** Most user IDs of one `usersRemoved` event. */
const REMOVED_PER_EVENT = 1_000;
/** A longer region is stored as its hash. Shorter ones share their text with others. */
const REGION_NAME_MAX = 256;
const HOLD_ENDED: PresenceChange = Object.freeze({ ...UNCHANGED, holdEnded: true });

/** Creates the embedded PresenceStore (see the port), in the memory of this process. */
export function createMemoryPresence(): PresenceStore {
  return new MemoryPresence();
}

/** Every method does its work without awaiting anything, which makes it one atomic step. */
class MemoryPresence implements PresenceStore {
  readonly isInProcess = true;
  readonly metrics = [];
  readonly #tally: Tally = { presences: 0, groups: 0 };
  readonly #groups = new ScopedMap<PresentGroup>();
  readonly #deadlines = new Deadlines();
  readonly #logs = new GroupLogs();
  readonly #records = new PresenceRecords(this.#deadlines);
  /** The longest time to live of an update, and the time of the last sweep. */
  #lifeMs = 0;
  #sweptAt = 0;
  readonly #transitions = new Transitions(this.#records, this.#logs, (presence) => this.#remove(presence));

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    this.#groups.clear();
    this.#tally.presences = 0;
    this.#tally.groups = 0;
    this.#deadlines.clear();
    this.#logs.clear();
  }

  async set(update: PresenceUpdate): Promise<PresenceChange> {
    const { userId, location, connection = null, lease, now } = update;
    this.#lifeMs = Math.max(this.#lifeMs, update.expiresAt - now);
    const region = regionName(update.region, REGION_NAME_MAX);
    const group = this.#groups.find(update);
    if (group === undefined) {
      if (update.condition === 'refresh' || update.condition === 'takeOver') return HOLD_ENDED;
      return this.#transitions.change(this.#addGroup(update), null, region, update);
    }
    const leaseEndsAt = lease === undefined ? undefined : group.leases.get(lease)?.expiresAt;
    if (leaseEndsAt !== undefined && leaseEndsAt <= now) return { ...UNCHANGED, leaseEnded: true };
    const presence = group.directory.find(userId, region, connection);
    if (!isMet(presence, update)) return HOLD_ENDED;
    if (presence?.incarnation !== update.incarnation) {
      // The group is another object afterwards: it is dropped with its last presence.
      if (this.#endOtherMembership(group, update)) return this.set(update);
    }
    if (presence !== undefined && presence.location === location && isLive(presence, now)) {
      this.#transitions.refresh(presence, update);
      return UNCHANGED;
    }
    return this.#transitions.change(group, presence ?? null, region, update);
  }

  async clear(presence: Parameters<PresenceStore['clear']>[0]): Promise<boolean> {
    const { userId, location, connection, now } = presence;
    const there = this.#groups.find(presence)?.directory.at(userId, location) ?? [];
    const ended = connection === undefined ? there : there.filter((one) => one.connection === connection);
    // An expired presence is left to the sweep, which reports it.
    if (!ended.some((one) => isLive(one, now))) return false;
    this.#transitions.end(ended, 'absent', now);
    return true;
  }

  async release(release: Parameters<PresenceStore['release']>[0]): Promise<void> {
    const { connection, lease, at, now, reason = 'absent' } = release;
    const held = this.#heldBy(release).filter((one) => one.record?.lease?.name === lease);
    for (const presence of held) {
      if (at <= now) this.#endSeparately(presence, reason, now);
      else if (presence.endsAt > at) this.#records.release(presence, at);
    }
    const [first] = held;
    if (first === undefined || at <= now) return;
    const event = {
      type: 'releasing' as const,
      userId: first.userId,
      connection: first.connection ?? connection,
    };
    this.#logs.append(release, event, now);
  }

  async retain(connection: Parameters<PresenceStore['retain']>[0]): Promise<void> {
    for (const presence of this.#heldBy(connection)) this.#records.retain(presence);
  }

  async holdsOf(connection: Parameters<PresenceStore['holdsOf']>[0]): Promise<ConnectionHold[]> {
    const held = this.#heldBy(connection).filter(
      ({ record }) => record !== null && (record.lease !== null || record.released !== null),
    );
    return held
      .sort((one, other) => (one.record?.order ?? 0) - (other.record?.order ?? 0))
      .map(({ region, location, record }) => ({ region, location, data: record?.data ?? null }));
  }

  async renewLease(renewal: Parameters<PresenceStore['renewLease']>[0]): Promise<LeaseState | null> {
    const lease = this.#groups.find(renewal)?.leases.get(renewal.lease);
    if (lease === undefined || lease.expiresAt <= renewal.now) return null;
    this.#records.renewLease(lease, renewal.expiresAt);
    return { updates: lease.updates, holds: lease.presences.size };
  }

  async find(reading: Parameters<PresenceStore['find']>[0]): Promise<PresentUsers> {
    const { filter, after, limit, now } = reading;
    const offset = this.#logs.find(reading, now)?.offset ?? 0;
    const users: PresentUser[] = [];
    const directory = this.#groups.find(reading)?.directory;
    if (directory === undefined) return { users, next: null, offset };
    const passes = locationTest(filter);
    let presences = 0;
    let bytes = 0;
    let last: string | null = null;
    for (const userId of directory.candidates(filter, passes, after)) {
      if (userId === last) continue;
      const isOver = presences >= READING_MAX_PRESENCES || bytes >= READING_MAX_BYTES;
      if (users.length === limit || isOver) return { users, next: last, offset };
      last = userId;
      const there = directory.of(userId);
      const shown = shownLocations(there, now, passes);
      presences += there.length;
      bytes += bytesOf(shown);
      const [first] = there;
      if (first !== undefined && shown.locations.length > 0) {
        users.push({ userId, incarnation: first.incarnation, ...shown });
      }
    }
    return { users, next: null, offset };
  }

  async locationsOf(reading: Parameters<PresenceStore['locationsOf']>[0]): Promise<UserLocations> {
    const presences = this.#groups.find(reading)?.directory.of(reading.userId) ?? [];
    if (presences[0]?.incarnation !== reading.incarnation) return { locations: [] };
    return shownLocations(presences, reading.now, () => true);
  }

  async removeUsers(scope: PresenceScope, userIds: readonly string[], now: number): Promise<void> {
    for (const userId of userIds) {
      for (const presence of this.#groups.find(scope)?.directory.of(userId) ?? []) this.#remove(presence);
    }
    const log = this.#logs.find(scope, now);
    if (log === undefined) return;
    for (const some of slices(userIds, REMOVED_PER_EVENT))
      log.append({ type: 'usersRemoved', userIds: detached(some) });
  }

  async removeGroup(scope: PresenceScope, now: number): Promise<void> {
    const group = this.#groups.find(scope);
    if (group !== undefined) {
      this.#drop(group);
      this.#groups.remove(group);
    }
    this.#logs.append(scope, { type: 'groupRemoved' }, now);
  }

  async removeProject(project: ProjectKey, now: number): Promise<void> {
    for (const group of this.#groups.of(project)) this.#drop(group);
    this.#groups.removeProject(project);
    for (const log of this.#logs.of(project, now)) log.append({ type: 'groupRemoved' });
  }

  async sweep(now: number): Promise<Expiry[]> {
    const expiries: Expiry[] = [];
    // The clock was set back. What was set before would last longer by as much.
    if (now < this.#sweptAt) this.#deadlines.limit(now + this.#lifeMs);
    this.#sweptAt = now;
    let visited = 0;
    for (const due of this.#deadlines.takeDue(now)) {
      for (const presence of due instanceof Lease ? due.presences : [due as Presence | null]) {
        if (presence !== null) this.#expire(presence, now, expiries);
        visited += 1;
        if (visited % SWEPT_PER_TICK === 0) await nextIteration();
      }
      if (due instanceof Lease) this.#endLease(due);
    }
    this.#logs.sweep(now);
    return expiries;
  }

  async count(): Promise<PresenceCount> {
    return { presences: this.#tally.presences, groups: this.#tally.groups };
  }

  async watch(scope: PresenceScope, now: number, watcher: PresenceWatcher): Promise<PresenceWatch> {
    return this.#logs.watch(scope, now, watcher);
  }

  async watchedGroups(project: ProjectKey, now: number): Promise<string[]> {
    return this.#logs.of(project, now).map(({ groupId }) => groupId);
  }

  async publish(scope: PresenceScope, event: GroupEvent, now: number, upTo?: number): Promise<void> {
    this.#logs.find(scope, now)?.append(detached(event), upTo);
  }

  /** True where presences of another membership were ended. All presences of a user belong to one. */
  #endOtherMembership({ directory }: PresentGroup, { userId, incarnation, now }: PresenceUpdate): boolean {
    const own = directory.of(userId);
    if (own[0] === undefined || own[0].incarnation === incarnation) return false;
    for (const presence of own) {
      this.#endSeparately(presence, isLive(presence, now) ? 'removed' : 'expired', now);
    }
    return true;
  }

  #expire(presence: Presence, now: number, expiries: Expiry[]): void {
    const { group, userId, location } = presence;
    const isLeft = this.#endSeparately(presence, 'expired', now);
    if (isLeft) expiries.push({ project: group.project, groupId: group.groupId, userId, location });
  }

  /** Ends a presence that may have ended with another one. True where the user left the location, for no other one. */
  #endSeparately(presence: Presence, reason: LeaveReason, now: number): boolean {
    const { group, userId, region, connection } = presence;
    if (group.directory.find(userId, region, connection) !== presence) return false;
    return this.#transitions.end([presence], reason, now);
  }

  #heldBy(scope: ConnectionScope & { now: number }): Presence[] {
    const own = this.#groups.find(scope)?.directory.of(scope.userId) ?? [];
    return own.filter((one) => one.connection === scope.connection && isLive(one, scope.now));
  }

  #remove(presence: Presence): void {
    this.#records.remove(presence);
    presence.group.remove(presence);
    if (presence.group.isEmpty) this.#groups.remove(presence.group);
  }

  /** Its presences have ended before. */
  #endLease({ group, name }: Lease): void {
    if (this.#groups.find(group) !== group) return;
    group.leases.delete(name);
    if (group.isEmpty) this.#groups.remove(group);
  }

  #addGroup({ project, groupId }: PresenceScope): PresentGroup {
    const group = new PresentGroup(project, detached(groupId), this.#tally);
    this.#groups.add(group);
    return group;
  }

  #drop(group: PresentGroup): void {
    group.dropped();
    for (const presence of group.directory.all()) this.#deadlines.remove(presence);
    for (const lease of group.leases.values()) this.#deadlines.remove(lease);
  }
}

/** Whether the condition of an update of this presence is met. A presence of another membership is no hold: the update ends it. */
function isMet(presence: Presence | undefined, update: PresenceUpdate): boolean {
  const { condition, incarnation, lease, location, now } = update;
  if (condition === undefined) return true;
  const hold = presence?.incarnation === incarnation && isLive(presence, now) ? presence : null;
  const holder = hold?.record?.lease?.name ?? lease;
  if (condition !== 'takeOver' && holder !== lease) return false;
  return condition === 'unleased' || hold?.location === location;
}
