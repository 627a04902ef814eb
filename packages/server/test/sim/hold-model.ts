import { compareCodePoints } from '@rollcall/protocol';
import type { ConnectionHold } from '../../src/presence/connection-hold.ts';
import type { LeaseState, PresenceUpdate, UserLocations } from '../../src/presence/presence-store.ts';
import type { Json } from '../../src/values/json.ts';

interface Hold {
  readonly userId: string;
  readonly region: Json;
  readonly connection: string | undefined;
  location: Json;
  order: number;
  data: Json | null;
  /** The lease and the deadline without it. */
  lease: string | undefined;
  deadline: number;
  /** The deadline before the release. */
  released: number | null;
}

type Named = Pick<Hold, 'userId' | 'region' | 'connection'>;

/** A naive model of the holds of one group: one list that every operation searches. */
export class HoldModel {
  holds: Hold[] = [];
  /** The deadline of each lease. */
  readonly leases = new Map<string, number>();
  /** How many updates each lease has had. */
  readonly updates = new Map<string, number>();
  #order = 0;

  endsAt({ lease, deadline }: Hold): number {
    return lease === undefined ? deadline : (this.leases.get(lease) ?? 0);
  }

  isLive(hold: Hold, now: number): boolean {
    return this.endsAt(hold) > now;
  }

  /** Whether the lease has reached its deadline, so that no hold of it is live. */
  hasEnded(lease: string, now: number): boolean {
    return (this.leases.get(lease) ?? Number.POSITIVE_INFINITY) <= now;
  }

  /** Ends the holds of a lease that has ended, so that its name may be used again. */
  dropLease(lease: string): void {
    this.#drop(this.holds.filter((hold) => hold.lease === lease));
    this.leases.delete(lease);
  }

  /** Whether the condition of the update is met. */
  isMet({ userId, region, connection, location, lease, condition, now }: PresenceUpdate): boolean {
    const hold = this.#find({ userId, region, connection });
    const isLive = hold !== undefined && this.isLive(hold, now);
    const isOfOtherLease = isLive && hold.lease !== undefined && hold.lease !== lease;
    const isThere = isLive && hold.location === location;
    if (condition === 'refresh') return isThere && !isOfOtherLease;
    if (condition === 'takeOver') return isThere;
    return condition === undefined || !isOfOtherLease;
  }

  /** The holds of the connection that a lease has, or had until they were released. */
  holdsOf(userId: string, connection: string, now: number): ConnectionHold[] {
    return this.#of(userId, now)
      .filter((hold) => hold.connection === connection)
      .filter(({ lease, released }) => lease !== undefined || released !== null)
      .sort((one, other) => one.order - other.order)
      .map(({ region, location, data }) => ({ region, location, data }));
  }

  set({ userId, region, connection, location, data, lease, expiresAt, now }: PresenceUpdate): void {
    let hold = this.#find({ userId, region, connection });
    if (hold === undefined) {
      hold = {
        userId,
        region,
        connection,
        location,
        order: 0,
        data: null,
        lease,
        deadline: 0,
        released: null,
      };
      this.holds.push(hold);
    } else if (!this.isLive(hold, now)) hold.order = 0;
    if (hold.order === 0 || hold.location !== location) {
      if (hold.order === 0) hold.data = null;
      this.#order += 1;
      hold.order = this.#order;
    }
    hold.location = location;
    if (data !== undefined) hold.data = data;
    this.#renew(hold, lease, expiresAt);
  }

  clear(userId: string, location: Json, connection: string | undefined, now: number): boolean {
    const ended = this.#of(userId, now).filter(
      (hold) => hold.location === location && (connection === undefined || hold.connection === connection),
    );
    this.#drop(ended);
    return ended.length > 0;
  }

  release(userId: string, connection: string, lease: string | undefined, at: number, now: number): void {
    for (const hold of this.#of(userId, now)) {
      if (hold.connection !== connection || hold.lease !== lease) continue;
      if (at <= now) this.#drop([hold]);
      else if (this.endsAt(hold) > at) {
        hold.released ??= this.endsAt(hold);
        hold.lease = undefined;
        hold.deadline = at;
      }
    }
  }

  retain(userId: string, connection: string, now: number): void {
    for (const hold of this.#of(userId, now)) {
      if (hold.connection !== connection || hold.released === null) continue;
      this.#renew(hold, undefined, hold.released);
    }
  }

  renewLease(lease: string, expiresAt: number, now: number): LeaseState | null {
    const endsAt = this.leases.get(lease) ?? 0;
    if (endsAt <= now) return null;
    this.leases.set(lease, Math.max(endsAt, expiresAt));
    const holds = this.holds.filter((hold) => hold.lease === lease).length;
    return { updates: this.updates.get(lease) ?? 0, holds };
  }

  sweep(now: number): void {
    this.#drop(this.holds.filter((hold) => !this.isLive(hold, now)));
    for (const [lease, endsAt] of this.leases) if (endsAt <= now) this.leases.delete(lease);
  }

  locationsOf(userId: string, now: number): UserLocations {
    const live = this.#of(userId, now);
    const shown = live.filter(
      (hold) => !live.some((other) => other.region === hold.region && other.order > hold.order),
    );
    const locations = [...new Set(shown.map(({ location }) => location))].sort(compareCodePoints);
    const data = locations.map((location) => {
      const there = shown.filter((hold) => hold.location === location);
      return there.reduce((newest, hold) => (hold.order > newest.order ? hold : newest)).data;
    });
    return data.some((one) => one !== null) ? { locations, data } : { locations };
  }

  #of(userId: string, now: number): Hold[] {
    return this.holds.filter((hold) => hold.userId === userId && this.isLive(hold, now));
  }

  #find({ userId, region, connection }: Named): Hold | undefined {
    return this.holds.find(
      (hold) => hold.userId === userId && hold.region === region && hold.connection === connection,
    );
  }

  #renew(hold: Hold, lease: string | undefined, expiresAt: number): void {
    hold.released = null;
    hold.lease = lease;
    hold.deadline = expiresAt;
    if (lease === undefined) return;
    if (!this.leases.has(lease)) this.updates.delete(lease);
    this.leases.set(lease, Math.max(this.leases.get(lease) ?? 0, expiresAt));
    this.updates.set(lease, (this.updates.get(lease) ?? 0) + 1);
  }

  #drop(ended: readonly Hold[]): void {
    this.holds = this.holds.filter((hold) => !ended.includes(hold));
  }
}
