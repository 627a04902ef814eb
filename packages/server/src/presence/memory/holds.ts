import type { Json } from '../../values/json.ts';
import type { Deadlines } from './deadlines.ts';
import { detachString } from './detach.ts';
import { type Hold, Lease, type Presence } from './presence.ts';

/** The deadlines, leases and data of presences. */
export class Holds {
  readonly #deadlines: Deadlines;
  /** Counts changes of location: see {@link Hold}. */
  #changes = 0;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** The next greatest order. */
  nextOrder(): number {
    this.#changes += 1;
    return this.#changes;
  }

  /** A hold of the oldest order, where the presence has none. */
  holdOf(presence: Presence): Hold {
    presence.hold ??= newHold(null);
    return presence.hold;
  }

  /** Gives the presence a deadline, or a lease of at least this deadline. A release is taken back. */
  renew(presence: Presence, name: string | undefined, expiresAt: number): void {
    const { hold } = presence;
    if (hold !== null) hold.released = null;
    if (name === undefined || hold === null) this.#endAt(presence, expiresAt);
    else this.#join(presence, hold, this.#leaseOf(presence, name, expiresAt));
  }

  /** Lets the presence end at a time that is before its deadline. */
  release(presence: Presence, at: number): void {
    const hold = this.holdOf(presence);
    hold.released ??= { lease: hold.lease?.name, expiresAt: presence.endsAt };
    this.#endAt(presence, at);
  }

  /** Takes back a release, where the lease has not ended meanwhile. */
  retain(presence: Presence, now: number): void {
    const { released } = presence.hold ?? { released: null };
    if (released === null) return;
    const { lease, expiresAt } = released;
    // A lease that has lost its last presence meanwhile begins again.
    const endsAt =
      lease === undefined ? expiresAt : (presence.group.leases.get(lease)?.expiresAt ?? expiresAt);
    if (endsAt > now) this.renew(presence, lease, endsAt);
  }

  renewLease(lease: Lease, expiresAt: number): void {
    if (expiresAt > lease.expiresAt) this.#deadlines.change(lease, expiresAt);
  }

  /** Call it when the presence was removed. */
  remove(presence: Presence): void {
    this.#deadlines.remove(presence);
    if (presence.hold !== null) this.#leave(presence, presence.hold);
  }

  /** True where the data changed. */
  setData(presence: Presence, data: Json | null): boolean {
    if ((presence.hold?.data ?? null) === data) return false;
    this.holdOf(presence).data = data === null ? null : detachString(data);
    return true;
  }

  #endAt(presence: Presence, expiresAt: number): void {
    const { hold } = presence;
    const isListed = hold === null || hold.lease === null;
    if (hold !== null) this.#leave(presence, hold);
    if (isListed && !presence.isAlone) this.#deadlines.change(presence, expiresAt);
    else {
      presence.unlink();
      presence.expiresAt = expiresAt;
      this.#deadlines.add(presence);
    }
  }

  #join(presence: Presence, hold: Hold, lease: Lease): void {
    if (hold.lease === lease) return;
    this.#deadlines.remove(presence);
    this.#leave(presence, hold);
    hold.lease = lease;
    lease.presences.add(presence);
  }

  #leave(presence: Presence, hold: Hold): void {
    const { lease } = hold;
    hold.lease = null;
    if (lease === null || !lease.presences.delete(presence) || lease.presences.size > 0) return;
    this.#deadlines.remove(lease);
    const { leases } = presence.group;
    if (leases.get(lease.name) === lease) leases.delete(lease.name);
  }

  #leaseOf({ group }: Presence, name: string, expiresAt: number): Lease {
    const known = group.leases.get(name);
    if (known !== undefined) {
      this.renewLease(known, expiresAt);
      return known;
    }
    const lease = new Lease(detachString(name), expiresAt);
    group.leases.set(lease.name, lease);
    this.#deadlines.add(lease);
    return lease;
  }
}

export const newHold = (connection: string | null): Hold => ({
  connection,
  order: 0,
  data: null,
  lease: null,
  released: null,
});
