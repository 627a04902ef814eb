import type { Json } from '../../values/json.ts';
import type { Deadlines } from './deadlines.ts';
import { detached } from './detached.ts';
import { Lease, type Presence, type PresenceRecord } from './presence.ts';

/** The deadlines, leases and data of presences. */
export class PresenceRecords {
  readonly #deadlines: Deadlines;
  /** Counts changes of location: see {@link PresenceRecord}. */
  #changes = 0;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** The next greatest order. */
  nextOrder(): number {
    this.#changes += 1;
    return this.#changes;
  }

  /** A record of the oldest order, where the presence has none. */
  recordOf(presence: Presence): PresenceRecord {
    presence.record ??= newRecord(null);
    return presence.record;
  }

  /** Gives the presence a deadline, or a lease of at least this deadline. A release is taken back. */
  renew(presence: Presence, name: string | undefined, expiresAt: number): void {
    const { record } = presence;
    if (record !== null) record.released = null;
    if (name === undefined || record === null) this.#endAt(presence, expiresAt);
    else {
      const lease = this.#leaseOf(presence, name, expiresAt);
      lease.updates += 1;
      this.#join(presence, record, lease);
    }
  }

  /** Lets the presence end at a time that is before its deadline. */
  release(presence: Presence, at: number): void {
    const record = this.recordOf(presence);
    record.released ??= presence.endsAt;
    this.#endAt(presence, at);
  }

  /** Takes back a release. */
  retain(presence: Presence): void {
    const endsAt = presence.record?.released ?? null;
    if (endsAt !== null) this.renew(presence, undefined, endsAt);
  }

  renewLease(lease: Lease, expiresAt: number): void {
    if (expiresAt > lease.expiresAt) this.#deadlines.change(lease, expiresAt);
  }

  /** Call it when the presence was removed. */
  remove(presence: Presence): void {
    this.#deadlines.remove(presence);
    if (presence.record !== null) this.#leave(presence, presence.record);
  }

  /** True where the data changed. */
  setData(presence: Presence, data: Json | null): boolean {
    if ((presence.record?.data ?? null) === data) return false;
    this.recordOf(presence).data = data;
    return true;
  }

  #endAt(presence: Presence, expiresAt: number): void {
    if (presence.record !== null) this.#leave(presence, presence.record);
    if (presence.isAlone) {
      // It is new, or belonged to a lease.
      presence.expiresAt = expiresAt;
      this.#deadlines.add(presence);
    } else this.#deadlines.change(presence, expiresAt);
  }

  #join(presence: Presence, record: PresenceRecord, lease: Lease): void {
    if (record.lease === lease) return;
    this.#deadlines.remove(presence);
    this.#leave(presence, record);
    record.lease = lease;
    lease.presences.add(presence);
  }

  #leave(presence: Presence, record: PresenceRecord): void {
    const { lease } = record;
    record.lease = null;
    lease?.presences.delete(presence);
  }

  #leaseOf({ group }: Presence, name: string, expiresAt: number): Lease {
    const known = group.leases.get(name);
    if (known !== undefined) {
      this.renewLease(known, expiresAt);
      return known;
    }
    const lease = new Lease(group, detached(name), expiresAt);
    group.leases.set(lease.name, lease);
    this.#deadlines.add(lease);
    return lease;
  }
}

export const newRecord = (connection: string | null): PresenceRecord => ({
  connection,
  order: 0,
  data: null,
  lease: null,
  released: null,
});
