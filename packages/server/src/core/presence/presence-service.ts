import type { Logger } from 'pino';
import { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import type { HoldCondition, PresenceScope, PresenceStore } from '../../presence/presence-store.ts';
import type { DurablePresenceOutcome } from '../../store/ports/durable-presence.ts';
import { type Eligibility, isEligible } from '../../store/ports/eligibility.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import type { Writer } from '../caller.ts';
import type { StoreWrites } from '../changes/store-writes.ts';
import type { Clock } from '../clock.ts';
import type { EligibilityCache, LastEligibility } from '../eligibility-cache.ts';
import { groupNotFound, notMember, userError } from '../errors.ts';
import { ServiceError } from '../service-error.ts';
import type { PresenceChange } from './presence-change.ts';

interface Parts {
  readonly store: Pick<Store, 'eligibility' | 'durablePresence'>;
  readonly presence: PresenceStore;
  readonly eligibility: EligibilityCache;
  readonly writes: StoreWrites;
  readonly clock: Clock;
  readonly log: Logger;
  readonly presenceTtlSeconds: number;
}

/** What holds a presence in place of a deadline of its own: see the port. */
export interface PresenceHolder {
  readonly connection: string;
  readonly lease: string;
  readonly condition?: HoldCondition;
  /** The last answer of this holder about the user in the group; null where it has none. */
  readonly eligibility: LastEligibility | null;
}

/** Why a user may not be present in a group; null where the user may. */
type AccessError = (eligibility: Eligibility, groupId: string, userId: string) => ServiceError | null;

/** The lease of a holder has ended: the update was not applied, and needs another lease. */
export class LeaseEndedError extends Error {}

/** The condition of the update is not met. */
export class HoldEndedError extends Error {}

interface Update extends PresenceChange, PresenceScope {
  readonly userId: string;
  readonly lease?: string;
  readonly condition?: HoldCondition;
}

interface UserPresenceChange {
  readonly userId: string;
  readonly change: PresenceChange;
}

/** The outcome of many updates. */
interface UpdatesApplied {
  readonly updated: number;
  /** The updates that were not applied, in order of their index in the list. */
  readonly rejected: readonly { readonly index: number; readonly error: ServiceError }[];
}

type DurableSet = Extract<DurablePresenceOutcome, { readonly kind: 'set' }>;

/** An engine failed meanwhile: it is unknown which updates were applied. */
export class PartlyAppliedError extends StoreUnavailableError {}

/** Sets users present and absent. See `presence-reading.ts` for readings and `presence-sweeps.ts` for expiry. */
export class PresenceService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Rejects with the `accessError` when the user or the group is not there or not active, or the user is not a member. An
   * ephemeral update with a holder is of that holder alone, and rejects with LeaseEndedError where its lease has ended, and with
   * HoldEndedError where its condition is not met.
   */
  put(
    writer: Writer,
    userId: string,
    change: PresenceChange,
    holder: PresenceHolder | null = null,
    accessError: AccessError = hostAccessError,
  ): Promise<void> {
    const { project } = writer;
    if (change.kind === 'durable')
      return this.#putDurable(writer, { ...change, project, userId }, accessError);
    if (holder === null) return this.#putEphemeral({ ...change, project, userId }, null, accessError);
    const { eligibility, ...own } = holder;
    return this.#putEphemeral({ ...change, project, userId, ...own }, eligibility, accessError);
  }

  /**
   * Applies the updates that are not rejected; those of one user in one group take effect in their order. The durable ones are one
   * atomic write of the store.
   * @throws PartlyAppliedError
   */
  async putMany(writer: Writer, changes: readonly UserPresenceChange[]): Promise<UpdatesApplied> {
    const { project } = writer;
    const updates = changes.map(({ userId, change }): Update => ({ ...change, project, userId }));
    try {
      const found = await this.#parts.store.eligibility.findMany(project, updates);
      const eligible = updates.filter((_, index) => isEligible(found[index] as Eligibility));
      const durable = this.#storeDurable(writer, eligible);
      // Each durable update awaits it; the first of them may do so after it has failed.
      durable.catch(() => {});
      const mutex = new KeyedMutex();
      const outcomes = await Promise.allSettled(
        updates.map((update, index) =>
          mutex.run(JSON.stringify([update.groupId, update.userId]), async () => {
            const incarnation = requireEligible(found[index] as Eligibility, update, hostAccessError);
            if (update.kind !== 'durable')
              return this.#setEphemeral(update, incarnation, null, hostAccessError);
            const outcome = (await durable).get(update) as DurablePresenceOutcome;
            if (outcome.kind === 'set') await this.#publishDurable(update, outcome);
            else requireEligible(outcome.eligibility, update, hostAccessError);
          }),
        ),
      );
      const rejected = outcomes.flatMap((outcome, index) =>
        outcome.status === 'fulfilled' ? [] : [{ index, error: serviceError(outcome.reason) }],
      );
      return { updated: updates.length - rejected.length, rejected };
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      throw new PartlyAppliedError(error.message, { cause: error });
    }
  }

  /** @param last the last answer of the caller; null where it has none */
  async #putEphemeral(update: Update, last: LastEligibility | null, accessError: AccessError): Promise<void> {
    const { eligibility } = this.#parts;
    const { project } = update;
    const incarnation =
      eligibility.cached(project, update, last) ??
      requireEligible(await eligibility.read(project, update, last), update, accessError);
    await this.#setEphemeral(update, incarnation, last, accessError);
  }

  async #setEphemeral(
    update: Update,
    incarnation: Incarnation,
    last: LastEligibility | null,
    accessError: AccessError,
  ): Promise<void> {
    const { presence, clock } = this.#parts;
    const now = clock.now();
    if (update.kind === 'absent') {
      await presence.clear({ ...update, now });
      return;
    }
    const expiresAt = now + this.#parts.presenceTtlSeconds * 1_000;
    const { created, leaseEnded, holdEnded } = await presence.set({ ...update, incarnation, now, expiresAt });
    if (leaseEnded === true) throw new LeaseEndedError('the lease has ended');
    if (holdEnded === true)
      throw new HoldEndedError('the connection does not hold the location any more, or not with this lease');
    if (created) await this.#recheckEligibility(update, incarnation, last, accessError);
  }

  /**
   * The membership can have ended, on this process or another, after eligibility was read (up to a second ago) and before the
   * presence was set, so that the end of the membership did not clear it. A presence that existed before was cleared.
   */
  async #recheckEligibility(
    update: Update,
    incarnation: Incarnation,
    last: LastEligibility | null,
    accessError: AccessError,
  ): Promise<void> {
    const { project, groupId, userId } = update;
    const eligibility = await this.#parts.eligibility.read(project, { groupId, userId }, last);
    if (eligibility.incarnation === incarnation) return;
    await this.#parts.presence.removeUsers({ project, groupId }, [userId], this.#parts.clock.now());
    // The user may be a member again.
    await this.#setEphemeral(update, requireEligible(eligibility, update, accessError), last, accessError);
  }

  async #putDurable(writer: Writer, update: Update, accessError: AccessError): Promise<void> {
    const { groupId, userId } = update;
    const { store, writes } = this.#parts;
    const stored = await writes.run(
      writer,
      (context) => store.durablePresence.put(update.project, toDurable(update), context),
      { rejected: ({ eligibility }) => accessError(eligibility, groupId, userId) as ServiceError },
    );
    await this.#publishDurable(update, stored);
  }

  /** Stores the durable ones of the updates, and resolves to the outcome of each. */
  async #storeDurable(
    writer: Writer,
    updates: readonly Update[],
  ): Promise<ReadonlyMap<Update, DurablePresenceOutcome>> {
    const durable = updates.filter(({ kind }) => kind === 'durable');
    if (durable.length === 0) return new Map();
    const { store, writes } = this.#parts;
    const { outcomes } = await writes.run(
      writer,
      (context) => store.durablePresence.putMany(writer.project, durable.map(toDurable), context),
      {},
    );
    return new Map(outcomes.map((outcome, index) => [durable[index] as Update, outcome]));
  }

  /** A failure is logged: the location is stored, and streams read it again when the engine is back. */
  async #publishDurable(update: Update, { previous, at, latestBefore, endedTo }: DurableSet): Promise<void> {
    const { userId, location } = update;
    const from = previous === location ? null : previous;
    const event = { type: 'durable', userId, location, at, from, latestBefore } as const;
    const { presence, clock } = this.#parts;
    try {
      await presence.publish(update, endedTo === null ? event : { ...event, endedTo }, clock.now());
    } catch (err) {
      this.#parts.log.error(
        { err },
        'a durable presence was stored and not published to streams; the next read of the record shows it',
      );
    }
  }
}

const toDurable = ({ userId, groupId, region, location }: Update) => ({ userId, groupId, region, location });

/** The error of an update that was rejected. @throws any other error */
function serviceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  throw error;
}

/** The membership of an eligible user. @throws ServiceError */
function requireEligible(
  eligibility: Eligibility,
  { groupId, userId }: Pick<Update, 'groupId' | 'userId'>,
  accessError: AccessError,
): Incarnation {
  const error = accessError(eligibility, groupId, userId);
  if (error !== null) throw error;
  return eligibility.incarnation as Incarnation;
}

/** For a host, whose error names which of them is not there. */
const hostAccessError: AccessError = ({ user, group, incarnation }, groupId, userId) => {
  const error = userError(userId, user);
  if (error !== null) return error;
  if (group === null) return groupNotFound(groupId);
  if (group === 'deleted') return groupNotFound(groupId, 'is deleted');
  return incarnation === null ? notMember(userId, groupId) : null;
};
