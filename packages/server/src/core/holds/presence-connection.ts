import { limits } from '@rollcall/protocol';
import { Semaphore } from '../../concurrency/semaphore.ts';
import type { ConnectionHold } from '../../presence/connection-hold.ts';
import type { LeaveReason } from '../../presence/presence-store.ts';
import { regionHash } from '../../presence/region-name.ts';
import type { Json } from '../../values/json.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { ClientWriter } from '../caller.ts';
import { type LastEligibility, noEligibility } from '../eligibility-cache.ts';
import type { PresenceChange } from '../presence/presence-change.ts';
import { ServiceError } from '../service-error.ts';
import type { HeldGroup } from './held-group.ts';
import type { Holder } from './holder.ts';

type Group = HeldGroup<PresenceConnection>;

/** A location that a connection holds in a region. A move changes it. */
interface Hold {
  writer: ClientWriter;
  location: Json;
  data: PresenceChange['data'];
  /** See `Owner.nextMove`: when the location was taken. */
  move: number;
  /** An event of the group said that the user has left the location: another caller ended the hold. */
  isEnded: boolean;
  /** The same since the last update: what the engine had of data is gone. */
  hasLeft: boolean;
}

/** What a connection holds in one group, by region. */
class GroupHolds extends Map<Json, Hold> {
  /** Of the connection's user in the group. */
  readonly eligibility = noEligibility();
  /** An update was not answered: the engine may hold more. */
  mayHoldMore = false;
}

interface Owner {
  readonly now: number;
  /** A number for each change of a location, in their order. */
  nextMove(): number;
  /** Sets what the connection holds in the group again, which takes back its release. */
  restore(connection: PresenceConnection, group: Group): Promise<void>;
  put(connection: PresenceConnection, writer: ClientWriter, change: PresenceChange): Promise<void>;
}

/** What one connection holds: at most `limits.SOCKET_LOCATIONS_MAX` locations. Its sockets open and close it. */
export class PresenceConnection implements Holder<Group> {
  readonly project: ProjectKey;
  readonly userId: string;
  readonly name: string;
  readonly #owner: Owner;
  readonly #holds = new Map<Group, GroupHolds>();
  #size = 0;
  #hasTakenOver = false;
  #sockets = 1;
  /** When what it holds ends; null while it is open. */
  #endsAt: number | null = null;
  /** The engine has lost what it held in these groups while it was closed. */
  readonly #lost = new Set<Group>();
  /** Of its updates and releases: see {@link inOrder}. */
  readonly #order = new Semaphore({ permits: 1 });
  /** The release that is under way: what takes it back, and what is held anew, comes after it. */
  #releasing: Promise<void> | null = null;

  /** @param releasing the release of the connection before it, of the same name */
  constructor(
    { project, userId, connection }: { project: ProjectKey; userId: string; connection: string },
    owner: Owner,
    releasing: Promise<void> | null = null,
  ) {
    this.project = project;
    this.userId = userId;
    this.name = connection;
    this.#owner = owner;
    if (releasing !== null) this.#follow(releasing);
  }

  /** The IDs of the groups in which it holds something. */
  get groupIds(): string[] {
    return [...this.#holds.keys()].map(({ groupId }) => groupId);
  }

  /**
   * Takes a location, or ends the holds of one.
   * @throws ServiceError like {@link requireRoom}, or like every update of a client
   */
  put(writer: ClientWriter, change: PresenceChange): Promise<void> {
    return this.#owner.put(this, writer, change);
  }

  /** Of its user in the group; null while it holds nothing there. */
  eligibilityIn(group: Group): LastEligibility | null {
    return this.#holds.get(group)?.eligibility ?? null;
  }

  /** Call it in order, right before an update: its sockets can take locations at once. @throws ServiceError `invalid_request` */
  requireRoom(change: PresenceChange): void {
    const isFull = this.#size >= limits.SOCKET_LOCATIONS_MAX;
    if (isFull && change.kind !== 'absent' && !this.#isHeld(change) && !this.#forgetEnded()) throw tooMany();
  }

  /**
   * Runs an update or a release after those that are under way. An engine that is called at once could apply them in another order:
   * the eligibility of an update is read first.
   */
  inOrder(task: () => Promise<void>): Promise<void> {
    return this.#order.run(null, task);
  }

  /** Resolves when the release that is under way has ended, or has failed; null where none is. */
  get releasing(): Promise<void> | null {
    return this.#releasing;
  }

  /** The changes that set what it holds in the group. */
  holdsOf(group: Group): { writer: ClientWriter; change: PresenceChange; move: number }[] {
    if (this.#endsAt !== null) return [];
    const holds = [...(this.#holds.get(group) ?? [])].filter(([, { isEnded }]) => !isEnded);
    return holds.map(([region, { writer, location, data, move }]) => ({
      writer,
      move,
      change: {
        ...{ kind: 'ephemeral', groupId: group.groupId, location, region },
        ...(data !== undefined && { data }),
      },
    }));
  }

  countIn(group: Group): number {
    let count = 0;
    if (this.#endsAt !== null) return count;
    for (const { isEnded } of this.#holds.get(group)?.values() ?? []) if (!isEnded) count += 1;
    return count;
  }

  onEvent(group: Group, location: Json, isThere: boolean): void {
    for (const hold of this.#holds.get(group)?.values() ?? [])
      if (hold.location === location) {
        hold.isEnded = !isThere;
        hold.hasLeft ||= !isThere;
      }
  }

  /** Whether it still holds what {@link holdsOf} returned. */
  isAt(group: Group, { region, data }: PresenceChange, move: number): boolean {
    const hold = this.#endsAt === null ? this.#holds.get(group)?.get(region) : undefined;
    return hold?.move === move && hold.data === data && !hold.isEnded;
  }

  remember(group: Group, writer: ClientWriter, { region, location, data }: PresenceChange): void {
    const holds = this.#holds.get(group) ?? this.#begin(group);
    const hold = this.#holdIn(holds, region);
    if (hold === undefined) {
      holds.set(region, {
        writer,
        location,
        data,
        move: this.#owner.nextMove(),
        isEnded: false,
        hasLeft: false,
      });
      this.#size += 1;
      return;
    }
    if (hold.location !== location || hold.isEnded) hold.move = this.#owner.nextMove();
    hold.writer = writer;
    hold.location = location;
    // The data of a hold that has ended have ended with it.
    if (data !== undefined || hold.hasLeft) hold.data = data;
    hold.hasLeft = false;
    hold.isEnded = false;
  }

  /** Remembers what it held on another process, as far as it holds nothing in these regions here. Whether there was any. */
  takeOver(group: Group, writer: ClientWriter, holds: readonly ConnectionHold[]): boolean {
    const before = this.#size;
    const regions = [...(this.#holds.get(group)?.keys() ?? [])];
    const known = new Set([...regions, ...regions.map(regionHash)]);
    for (const { region, location, data } of holds) {
      if (this.#endsAt !== null || this.#size >= limits.SOCKET_LOCATIONS_MAX) break;
      const change = { kind: 'ephemeral', groupId: group.groupId, location, region } as const;
      if (!known.has(region)) this.remember(group, writer, data === null ? change : { ...change, data });
    }
    const isAny = this.#size > before;
    this.#hasTakenOver ||= isAny;
    return isAny;
  }

  /** The engine has not answered, so it may hold the location: that is released like the others, and not set again. */
  rememberUnknown(group: Group, writer: ClientWriter, change: PresenceChange): void {
    const holds = this.#holds.get(group) ?? this.#begin(group);
    holds.mayHoldMore = true;
    if (this.#holdIn(holds, change.region) !== undefined) return;
    this.remember(group, writer, change);
    (holds.get(change.region) as Hold).isEnded = true;
  }

  /** The holds of the location in the group have ended; all of the group where it is null. */
  forget(group: Group, location: Json | null): void {
    const holds = this.#holds.get(group);
    if (holds === undefined) return;
    this.#size -= holds.size;
    for (const [region, hold] of holds)
      if (location === null || hold.location === location) holds.delete(region);
    this.#size += holds.size;
    if (holds.size > 0) return;
    this.#holds.delete(group);
    this.#lost.delete(group);
    group.delete(this);
  }

  /** The hold of the region has ended. The group stays for now: see {@link leaveEmptyGroups}. */
  forgetRegion(group: Group, region: Json): void {
    if (this.#holds.get(group)?.delete(region) === true) this.#size -= 1;
  }

  /** Leaves the groups in which it holds nothing any more: what other callers have ended is forgotten by its region. */
  leaveEmptyGroups(): void {
    for (const [group, holds] of this.#holds)
      if (holds.size === 0 && !holds.mayHoldMore) this.forget(group, null);
  }

  /** Whether the engine has lost what it held in the group while it was closed: it is not there to be refreshed. */
  hasLost(group: Group): boolean {
    return this.#lost.has(group);
  }

  /** The engine has lost what is held in the group. It is set again at once, unless the connection is closed. */
  lost(group: Group): void {
    if (this.#endsAt !== null) this.#lost.add(group);
  }

  /** The connection is open again, and what it held in the group is set. */
  regained(group: Group): void {
    this.#lost.delete(group);
  }

  /** Ends what it holds in a group, and forgets it. `removed`: the user cannot be present there any more. */
  async leave(groupId: string, reason: LeaveReason = 'absent'): Promise<void> {
    const groups = [...this.#holds.keys()].filter((group) => group.groupId === groupId);
    const released = Promise.all(groups.map((group) => group.release(this, this.#owner.now, reason)));
    for (const group of groups) this.forget(group, null);
    await released;
  }

  /** Another socket of the connection is open. What it held goes on. Where that fails, the socket is not open. */
  async reopen(): Promise<void> {
    this.#sockets += 1;
    const endsAt = this.#endsAt;
    this.#endsAt = null;
    await this.#releasing;
    if (endsAt === null) return;
    try {
      const groups = [...this.#holds.keys()];
      for (const group of groups) group.retain(this.userId, this.name);
      await Promise.all(groups.map((group) => this.#owner.restore(this, group)));
    } catch (error) {
      this.close(Math.max(0, endsAt - this.#owner.now)).catch(() => {});
      throw error;
    }
  }

  /** A socket has closed. With the last one, what it holds ends after a time, and for the reason where that is at once. */
  async close(graceMs: number, reason: LeaveReason = 'absent'): Promise<void> {
    this.#sockets -= 1;
    if (this.#sockets > 0) return;
    const endsAt = this.#owner.now + graceMs;
    this.#endsAt = endsAt;
    const released = Promise.all([...this.#holds.keys()].map((group) => group.release(this, endsAt, reason)));
    this.#follow(released);
    await released;
  }

  #follow(release: Promise<unknown>): void {
    const releasing = release
      .catch(() => {})
      .then(() => {
        if (this.#releasing === releasing) this.#releasing = null;
      });
    this.#releasing = releasing;
  }

  /** Whether it is closed, and cannot come back; its groups do not know it any more. */
  isGone(now: number): boolean {
    if (this.#endsAt === null || now < this.#endsAt) return false;
    for (const group of [...this.#holds.keys()]) this.forget(group, null);
    return true;
  }

  /** Forgets what other callers have ended. Whether there was any. */
  #forgetEnded(): boolean {
    const before = this.#size;
    for (const holds of this.#holds.values())
      for (const [region, { isEnded }] of holds) if (isEnded && holds.delete(region)) this.#size -= 1;
    return this.#size < before;
  }

  #begin(group: Group): GroupHolds {
    const holds = new GroupHolds();
    this.#holds.set(group, holds);
    group.add(this);
    return holds;
  }

  /** The hold of a region. One that was taken over has the name of a long region, until an update has the region's text. */
  #holdIn(holds: Map<Json, Hold>, region: Json): Hold | undefined {
    const known = holds.get(region);
    if (known !== undefined || !this.#hasTakenOver) return known;
    const name = regionHash(region);
    const named = holds.get(name);
    if (named === undefined) return undefined;
    holds.delete(name);
    holds.set(region, named);
    return named;
  }

  #isHeld({ groupId, region }: PresenceChange): boolean {
    for (const [group, holds] of this.#holds)
      if (group.groupId === groupId && this.#holdIn(holds, region) !== undefined) return true;
    return false;
  }
}

const tooMany = () =>
  new ServiceError(
    'invalid_request',
    `the connection holds ${limits.SOCKET_LOCATIONS_MAX} locations, which is the most; leave one first`,
  );
