import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Repeated } from '../../concurrency/repeated.ts';
import { type PresenceStore, WATCH_LEASE_MS } from '../../presence/presence-store.ts';
import { ScopedMap } from '../../presence/scoped-map.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import type { ClientWriter } from '../caller.ts';
import type { ClientSessions } from '../clients/client-session.ts';
import type { Clock } from '../clock.ts';
import type { PresenceChange } from '../presence/presence-change.ts';
import { HoldEndedError, LeaseEndedError, type PresenceHolder } from '../presence/presence-service.ts';
import { ServiceError } from '../service-error.ts';
import { HeldGroup } from './held-group.ts';
import { PresenceConnection } from './presence-connection.ts';

type Group = HeldGroup<PresenceConnection>;

/** How often leases are checked at most. Those of a short life are checked more often. */
const TICK_MS = 1_000;
/** A lease is renewed so many times before it would end. */
const RENEWALS_PER_LIFE = 3;
/** In how many groups of a user a connection is looked for. */
const GROUPS_MAX = 100;
/** Most renewals that are under way at once. */
const RENEWED_AT_ONCE = 100;

interface Parts {
  readonly clients: ClientSessions;
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly presenceTtlSeconds: number;
}

/**
 * The presences that connections to this process hold: no client refreshes them. All holds of a group belong to one lease of this
 * process, which is renewed in one step, so that presence of a process that dies ends at the lease's deadline. Where the engine
 * has lost the lease, the holds are set again, as far as their users may still be present.
 *
 * Memory: some 500 bytes and the location for each hold; callers bound how many a connection has.
 */
export class HeldPresence {
  readonly #parts: Parts;
  readonly #process = randomBytes(9).toString('base64url');
  readonly #groups = new ScopedMap<Group>();
  /** By project, user and connection: open ones, and those that may come back. */
  readonly #connections = new Map<string, PresenceConnection>();
  readonly #stop: () => void;
  /** How often a lease is renewed, in milliseconds. */
  readonly #renewalMs: number;
  #leases = 0;
  #moves = 0;
  readonly #renewal = new Repeated(() => this.#renew());

  constructor(parts: Parts) {
    this.#parts = parts;
    // Watches of groups are renewed with the leases.
    const lifeMs = Math.min(parts.presenceTtlSeconds * 1_000, WATCH_LEASE_MS);
    this.#renewalMs = lifeMs / RENEWALS_PER_LIFE;
    this.#stop = parts.clock.every(Math.min(TICK_MS, this.#renewalMs), () => this.#tick());
  }

  close(): void {
    this.#stop();
    void this.#renewal.close();
  }

  /**
   * The holds of a connection (a new one where `name` is null), which several sockets of a user can share. One that was closed
   * a moment ago has what it held.
   */
  async open(project: ProjectKey, userId: string, name: string | null): Promise<PresenceConnection> {
    const connection = name ?? randomBytes(12).toString('base64url');
    const key = keyOf(project, userId, connection);
    const known = this.#connections.get(key);
    if (known !== undefined && !known.isGone(this.now)) {
      await known.reopen();
      return known;
    }
    // A release that comes later would end what the new one holds.
    const opened = new PresenceConnection({ project, userId, connection }, this, known?.releasing);
    this.#connections.set(key, opened);
    await opened.releasing;
    return opened;
  }

  /**
   * Takes over what the connection holds on other processes, one that was killed among them: it is open on this one now. Costs a read of
   * the user's groups and one of the engine for each; of at most {@link GROUPS_MAX}. What cannot be read or set is not taken over.
   * Where presence is in this process, there is no other one.
   */
  async takeOver(connection: PresenceConnection, writer: ClientWriter): Promise<void> {
    const { presence, clients } = this.#parts;
    if (presence.isInProcess) return;
    try {
      const { items } = await clients.listGroups(writer, { after: null, limit: GROUPS_MAX });
      const groups = JSON.parse(`[${items}]`) as { readonly id: string }[];
      await Promise.all(groups.map(({ id }) => this.#takeOverIn(connection, writer, id)));
    } catch (error) {
      if (!(error instanceof StoreUnavailableError || error instanceof ServiceError)) throw error;
    }
  }

  async #takeOverIn(connection: PresenceConnection, writer: ClientWriter, groupId: string): Promise<void> {
    const { project, userId, name } = connection;
    const holds = await this.presence.holdsOf({ project, groupId, userId, connection: name, now: this.now });
    if (holds.length === 0) return;
    const group = this.#groupOf(project, groupId);
    let isAny = false;
    await group.put(async (lease) => {
      // Again with another lease: where the first had ended, the holds of other leases were forgotten when it was replaced.
      if (connection.takeOver(group, writer, holds)) isAny = true;
      if (isAny) await this.#putAll([connection], group, { lease, condition: 'takeOver' });
    });
  }

  get now(): number {
    return this.#parts.clock.now();
  }

  get presence(): PresenceStore {
    return this.#parts.presence;
  }

  /** A number for each change of a location, in their order. */
  nextMove(): number {
    this.#moves += 1;
    return this.#moves;
  }

  newLease(): string {
    this.#leases += 1;
    return `${this.#process}-${this.#leases}`;
  }

  /** Sets a presence that the connection holds, or ends it. @throws ServiceError like every update of a client */
  async put(connection: PresenceConnection, writer: ClientWriter, change: PresenceChange): Promise<void> {
    const { clients } = this.#parts;
    const { project } = connection;
    const { groupId } = change;
    // A watch takes memory of the engine for minutes: only a user who may be present in a group begins one.
    if (this.#groups.find({ project, groupId }) === undefined) await clients.enter(writer, groupId);
    const group = this.#groupOf(project, groupId);
    await group.put((lease) =>
      connection.inOrder(async () => {
        connection.requireRoom(change);
        try {
          const eligibility = connection.eligibilityIn(group);
          await clients.putPresence(writer, change, { connection: connection.name, lease, eligibility });
        } catch (error) {
          const isUnknown = error instanceof StoreUnavailableError && change.kind !== 'absent';
          if (isUnknown) connection.rememberUnknown(group, writer, change);
          throw error;
        }
        if (change.kind === 'absent') connection.forget(group, change.location);
        else {
          group.applied(lease, connection.userId);
          connection.remember(group, writer, change);
        }
      }),
    );
  }

  async restore(connection: PresenceConnection, group: Group): Promise<void> {
    if (!connection.hasLost(group)) return group.restore((lease) => this.refresh([connection], group, lease));
    await group.put((lease) => this.setAgain([connection], group, lease));
    connection.regained(group);
  }

  setAgain(
    connections: readonly PresenceConnection[],
    group: Group,
    lease: string,
    hasEnded = false,
  ): Promise<void> {
    for (const connection of connections) connection.lost(group);
    return this.#putAll(connections, group, { lease, ...(hasEnded && { condition: 'unleased' }) });
  }

  refresh(connections: readonly PresenceConnection[], group: Group, lease: string): Promise<void> {
    return this.#putAll(connections, group, { lease, condition: 'refresh' });
  }

  /** An update over HTTP may have taken holds of a connection out of the lease. Where it is open, they are taken in again. */
  takeIn(group: Group, userId: string, name: string): void {
    const connection = this.#connections.get(keyOf(group.project, userId, name));
    if (connection === undefined || connection.holdsOf(group).length === 0) return;
    // Where it fails now, the next tick repeats it.
    group.expedite();
    void this.#safely(() => group.put((lease) => this.refresh([connection], group, lease)));
  }

  /** In the order in which the locations were taken: of an exclusive region the newest is shown. */
  async #putAll(
    connections: readonly PresenceConnection[],
    group: Group,
    holder: Pick<PresenceHolder, 'lease' | 'condition'>,
  ): Promise<void> {
    const holds = connections.flatMap((connection) =>
      connection.holdsOf(group).map((hold) => ({ ...hold, connection })),
    );
    for (const { connection, writer, change, move } of holds.sort((one, other) => one.move - other.move)) {
      await connection.inOrder(async () => {
        // It may have moved, ended or been released since the holds were read.
        if (!connection.isAt(group, change, move)) return;
        // What is there has its data: an update of another caller may have replaced them.
        const isThere = holder.condition === 'refresh' || holder.condition === 'takeOver';
        const update = isThere ? withoutData(change) : change;
        try {
          const own = { connection: connection.name, eligibility: connection.eligibilityIn(group) };
          await this.#parts.clients.putPresence(writer, update, { ...own, ...holder });
          group.applied(holder.lease, connection.userId);
        } catch (error) {
          if (error instanceof StoreUnavailableError || error instanceof LeaseEndedError) throw error;
          if (error instanceof HoldEndedError) connection.forgetRegion(group, change.region);
          else connection.forget(group, change.location);
        }
      });
    }
  }

  #groupOf(project: ProjectKey, groupId: string): Group {
    const known = this.#groups.find({ project, groupId });
    if (known !== undefined) return known;
    const ttlMs = this.#parts.presenceTtlSeconds * 1_000;
    const group = new HeldGroup<PresenceConnection>({ project, groupId }, this, ttlMs);
    this.#groups.add(group);
    return group;
  }

  #tick(): void {
    for (const [key, connection] of this.#connections) {
      connection.leaveEmptyGroups();
      if (connection.isGone(this.now) && connection.releasing === null) this.#connections.delete(key);
    }
    void this.#renewal.request();
  }

  /** Renews what is due; a failure is repeated with the next tick. */
  async #renew(): Promise<void> {
    const due: Group[] = [];
    for (const group of this.#groups.all()) {
      if (group.isIdle) {
        this.#groups.remove(group);
        void this.#safely(() => group.end());
      } else if (group.isDue(this.now, this.#renewalMs)) due.push(group);
    }
    for (const some of slices(due, RENEWED_AT_ONCE))
      await Promise.all(some.map((group) => this.#safely(() => group.renew())));
  }

  async #safely(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        this.#parts.log.error(
          { err },
          'held presence could not be renewed; it expires unless a later renewal succeeds',
        );
    }
  }
}

const keyOf = (...key: [project: ProjectKey, userId: string, connection: string]) => JSON.stringify(key);

function withoutData({ data: _, ...change }: PresenceChange): PresenceChange {
  return change;
}
