import { setImmediate as nextIteration } from 'node:timers/promises';
import type {
  LeaseState,
  LeaveReason,
  PresenceEvent,
  PresencePosition,
  PresenceScope,
  PresenceStore,
  PresenceWatch,
} from '../../presence/presence-store.ts';
import type { Json } from '../../values/json.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import { LeaseEndedError } from '../presence/presence-service.ts';
import type { Holder, HolderOfGroups } from './holder.ts';

/** A connection whose holds of the lease are to end at a time. */
type Release = Omit<Parameters<PresenceStore['release']>[0], 'now'>;

/** Most failed releases of a group that are repeated at once. */
const RELEASED_AT_ONCE = 100;

/**
 * The holds of one group that belong to this process' lease. A lease that is gone, or has had fewer updates than were applied, was
 * lost by the engine, and its holds are set again. The group is watched: an update of another caller can end a hold, and then it is
 * not set again either.
 */
export class HeldGroup<Connection extends Holder<HeldGroup<Connection>>> implements PresenceScope {
  readonly project: ProjectKey;
  readonly groupId: string;
  readonly #scope: PresenceScope;
  readonly #owner: HolderOfGroups<Connection, HeldGroup<Connection>>;
  readonly #ttlMs: number;
  /** By user. */
  readonly #holders = new Map<string, Set<Connection>>();
  #lease: string;
  #renewedAt: number;
  #endsAt: number;
  /** Updates and releases that are under way. */
  #updates = 0;
  /** Releases that failed, by user and connection. The lease goes on meanwhile, so they are repeated until one succeeds. */
  readonly #unreleased = new Map<string, Release>();
  #watch: Promise<PresenceWatch> | null = null;
  /** The last event that was applied; null before the first watch. */
  #position: PresencePosition | null = null;
  /** So many updates with the lease were applied at least. */
  #applied = 0;
  /** Some holds are not set with the lease yet, which replaced one that was lost. */
  #isIncomplete = false;
  /**
   * Users whose holds are set again by the next renewal: their membership has ended, and may have begun anew, or a lease was replaced
   * while an update with it was under way.
   */
  #displaced = new Set<string>();
  /** The lease that was replaced had ended: the engine does not have it in part. */
  #hadEnded = false;
  /** Holds are being set with the lease. */
  #completing: Promise<void> | null = null;

  constructor(scope: PresenceScope, owner: HolderOfGroups<Connection, HeldGroup<Connection>>, ttlMs: number) {
    this.project = scope.project;
    this.groupId = scope.groupId;
    this.#scope = scope;
    this.#owner = owner;
    this.#ttlMs = ttlMs;
    this.#lease = owner.newLease();
    this.#renewedAt = owner.now;
    this.#endsAt = owner.now + ttlMs;
  }

  /** No connection holds anything, and none is about to. */
  get isIdle(): boolean {
    return this.#holders.size === 0 && this.#updates === 0 && this.#unreleased.size === 0;
  }

  isDue(now: number, intervalMs: number): boolean {
    if (this.#unreleased.size > 0 || this.#isIncomplete || this.#displaced.size > 0) return true;
    return Math.abs(now - this.#renewedAt) >= intervalMs;
  }

  /** Lets the lease be due with the next tick. */
  expedite(): void {
    this.#renewedAt = Number.NEGATIVE_INFINITY;
  }

  add(connection: Connection): void {
    const own = this.#holders.get(connection.userId) ?? new Set();
    this.#holders.set(connection.userId, own.add(connection));
  }

  delete(connection: Connection): void {
    const own = this.#holders.get(connection.userId);
    own?.delete(connection);
    if (own?.size === 0) this.#holders.delete(connection.userId);
  }

  /** Runs an update with the lease; once more with another one where it has ended. */
  async put(update: (lease: string) => Promise<void>): Promise<void> {
    this.#updates += 1;
    try {
      // A release that comes later would end what the connection is about to hold.
      if (this.#unreleased.size > 0) await this.#releaseAgain();
      await this.#watched();
      const lease = this.#lease;
      try {
        await update(lease);
      } catch (error) {
        if (!(error instanceof LeaseEndedError)) throw error;
        await this.#replace(lease, true);
        await update(this.#lease);
      }
    } finally {
      this.#updates -= 1;
    }
  }

  /**
   * Ends what a connection holds at a time. Where that fails, it is repeated with each renewal, and before the next update.
   * Only holds of this lease end: the connection may be open on another process by now. @throws StoreUnavailableError
   */
  async release(connection: Connection, at: number, reason: LeaveReason): Promise<void> {
    this.#updates += 1;
    try {
      await connection.inOrder(() => this.#release(connection, at, reason));
    } finally {
      this.#updates -= 1;
    }
  }

  /** The connection is open again: a release that failed is not repeated. */
  retain(userId: string, connection: string): void {
    this.#unreleased.delete(releaseKey(userId, connection));
  }

  /** An update of the user with the lease was applied. */
  applied(lease: string, userId: string): void {
    if (lease === this.#lease) this.#applied += 1;
    else this.#displaced.add(userId);
  }

  /**
   * Extends the lease, and sets its holds again where the engine has lost it, or its last updates. A hold that was ended is no
   * reason: the lease and its count of updates stay. Where the lease has fewer holds than the connections, an update of another
   * caller took one out of it, or an event did not show that one has ended. @throws StoreUnavailableError
   */
  async renew(): Promise<void> {
    await this.#releaseAgain();
    if (this.#holders.size === 0) return;
    await this.#setDisplacedAgain();
    const held = this.#count();
    const state = await this.#renewLease();
    if (state === null || state.holds >= held) return;
    // What was answered before the renewal is known then.
    await nextIteration();
    if (state.holds < this.#count())
      await this.put((lease) => this.#owner.refresh(this.#connections(), this, lease));
  }

  /** Runs an update of holds that the engine may have lost: in that case all are set again before. */
  async restore(update: (lease: string) => Promise<void>): Promise<void> {
    await this.#renewLease();
    await this.put(update);
  }

  /** The state of the lease; null where it was lost, and its holds are set again with another one. */
  async #renewLease(): Promise<LeaseState | null> {
    const { now, presence } = this.#owner;
    const lease = this.#lease;
    const expiresAt = now + this.#ttlMs;
    const watch = await this.#watched();
    const applied = this.#applied;
    const [state] = await Promise.all([
      presence.renewLease({ ...this.#scope, lease, expiresAt, now }),
      watch.renew(now),
    ]);
    this.#renewedAt = now;
    const hasEnded = now >= this.#endsAt;
    if (state !== null) this.#endsAt = expiresAt;
    const isLost = applied > 0 && (state === null || state.updates < applied);
    if (isLost && hasEnded && state !== null) {
      // An update has made the lease anew: what it set belongs to it, so that the others are set with the same one.
      [this.#applied, this.#isIncomplete, this.#hadEnded] = [state.updates, true, true];
    } else if (isLost) await this.#replace(lease, hasEnded);
    else if (state !== null && this.#lease === lease && this.#applied === applied && this.#updates === 0) {
      // Updates whose answers were lost are in the engine's count alone: as many could be lost later without notice.
      this.#applied = state.updates;
    }
    const wasIncomplete = this.#isIncomplete;
    if (wasIncomplete) await this.#complete();
    return isLost || wasIncomplete ? null : state;
  }

  /** What the connection of a member holds is set for the new membership. Without a membership it is forgotten. */
  async #setDisplacedAgain(): Promise<void> {
    const displaced = this.#displaced;
    this.#displaced = new Set();
    const connections = [...displaced].flatMap((id) => [...(this.#holders.get(id) ?? [])]);
    try {
      await this.put((lease) => this.#owner.setAgain(connections, this, lease));
    } catch (error) {
      this.#displaced = this.#displaced.union(displaced);
      throw error;
    }
  }

  #count(): number {
    let count = 0;
    for (const own of this.#holders.values()) for (const connection of own) count += connection.countIn(this);
    return count;
  }

  #connections(): Connection[] {
    return [...this.#holders.values()].flatMap((own) => [...own]);
  }

  /** The group is not used any more. */
  async end(): Promise<void> {
    (await this.#watch)?.close();
  }

  async #release({ userId, name }: Connection, at: number, reason: LeaveReason): Promise<void> {
    const release: Release = { ...this.#scope, userId, connection: name, lease: this.#lease, at, reason };
    try {
      await this.#owner.presence.release({ ...release, now: this.#owner.now });
    } catch (error) {
      this.#unreleased.set(releaseKey(userId, name), release);
      throw error;
    }
  }

  /** Sets all holds with another lease. Where that fails in between, each renewal tries again. */
  async #replace(lost: string, hasEnded: boolean): Promise<void> {
    // Another update may have replaced it.
    if (this.#lease !== lost) return;
    this.#lease = this.#owner.newLease();
    this.#endsAt = this.#owner.now + this.#ttlMs;
    this.#applied = 0;
    this.#isIncomplete = true;
    this.#hadEnded = hasEnded;
    await this.#complete();
  }

  #complete(): Promise<void> {
    this.#completing ??= this.#setAgain().finally(() => {
      this.#completing = null;
    });
    return this.#completing;
  }

  async #setAgain(): Promise<void> {
    await this.#owner.setAgain(this.#connections(), this, this.#lease, this.#hadEnded);
    this.#isIncomplete = false;
  }

  async #releaseAgain(): Promise<void> {
    for (const some of slices([...this.#unreleased], RELEASED_AT_ONCE)) {
      const released = some.map(async ([key, release]) => {
        await this.#owner.presence.release({ ...release, now: this.#owner.now });
        if (this.#unreleased.get(key) === release) this.#unreleased.delete(key);
      });
      await Promise.all(released);
    }
  }

  #watched(): Promise<PresenceWatch> {
    this.#watch ??= this.#begin();
    return this.#watch;
  }

  #begin(): Promise<PresenceWatch> {
    const { now, presence } = this.#owner;
    const lose = () => {
      if (this.#watch === watch) this.#watch = null;
      void began.then((own) => own.close()).catch(() => {});
    };
    // Events that come while the missed ones are read.
    let waiting: (() => void)[] | null = [];
    const began = presence.watch(this.#scope, now, {
      onEvent: (offset, event, checksum) => {
        const apply = () => this.#apply(offset, event, checksum);
        if (waiting === null) apply();
        else waiting.push(apply);
      },
      onLost: lose,
    });
    const watch = began.then(async (own) => {
      await this.#catchUp(own);
      for (const apply of waiting ?? []) apply();
      waiting = null;
      return own;
    });
    watch.catch(lose);
    return watch;
  }

  /** Applies what happened since the watch before was lost. Where the engine does not have it any more, that stays unknown. */
  async #catchUp(watch: PresenceWatch): Promise<void> {
    const missed = this.#position === null ? [] : await watch.since(this.#position);
    for (const [, event] of missed ?? []) this.#onEvent(event);
    this.#position = watch.position;
  }

  #apply(offset: number, event: PresenceEvent, checksum?: string): void {
    const { epoch } = this.#position as PresencePosition;
    this.#position = { epoch, offset, ...(checksum !== undefined && { checksum }) };
    this.#onEvent(event);
  }

  #onEvent(event: PresenceEvent): void {
    if (event.type === 'departed') {
      // What expired was not ended by an update: its lease was not renewed in time, and the hold stays.
      if (event.reason !== 'expired') this.#notify(event.userId, event.location, false);
    } else if (event.type === 'arrived') this.#notify(event.userId, event.location, true);
    else if (event.type === 'usersRemoved') this.#remove(event.userIds);
    else if (event.type === 'groupRemoved') this.#remove(this.#holders.keys());
    else if (event.type === 'releasing') this.#owner.takeIn(this, event.userId, event.connection);
  }

  #remove(userIds: Iterable<string>): void {
    for (const id of userIds) if (this.#holders.has(id)) this.#displaced.add(id);
  }

  #notify(userId: string, location: Json, isThere: boolean): void {
    for (const connection of this.#holders.get(userId) ?? []) connection.onEvent(this, location, isThere);
  }
}

// No ID has a NUL.
const releaseKey = (userId: string, connection: string) => `${userId}\0${connection}`;
