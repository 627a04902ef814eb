import {
  canonicalLocation,
  type Findings,
  isJsonObject,
  locationMatches,
  type PresenceWrite,
} from '@rollcall/protocol';
import type { PresenceScope, PresenceStore, ToldEvent } from '../presence/presence-store.ts';
import type { Incarnation, Json, ProjectKey, Standing, Store } from '../store/store.ts';
import type { GroupDependencies } from './group-service.ts';
import { type GroupNoun, groupNotFound, userNotFound } from './refusals.ts';
import { ServiceError } from './service-error.ts';
import { writeContext } from './write-context.ts';

export interface PresenceDependencies extends GroupDependencies {
  readonly presenceTtlSeconds: number;
}

/** A checked update with its locations in canonical form. */
interface Update extends PresenceScope {
  readonly kind: 'ephemeral' | 'absent' | 'durable';
  readonly noun: GroupNoun;
  readonly userId: string;
  readonly location: Json;
  readonly region: Json;
}

/** Setting users present and absent. Reading is `presence-reading.ts`, ending `presence-sweeps.ts`. */
export class PresenceService {
  readonly #store: Store;
  readonly #presence: PresenceStore;
  readonly #dependencies: PresenceDependencies;
  readonly #ttlMs: number;

  constructor(dependencies: PresenceDependencies) {
    this.#store = dependencies.store;
    this.#presence = dependencies.presence;
    this.#dependencies = dependencies;
    this.#ttlMs = dependencies.presenceTtlSeconds * 1_000;
  }

  /** @throws ServiceError when the user or the group may not act, or the user is no member (a rejection) */
  put(project: ProjectKey, userId: string, write: PresenceWrite): Promise<void> {
    const update = toUpdate(project, userId, write);
    if (update.kind === 'durable') return this.#putDurable(update);
    // No promise more than it takes where nobody has to be asked: that is the way of nearly every update.
    const remembered = this.#dependencies.standings.remembered(project, update);
    if (remembered !== null) return this.#putEphemeral(update, remembered);
    return this.#putAsked(update);
  }

  async #putAsked(update: Update): Promise<void> {
    const standing = await this.#dependencies.standings.ask(update.project, update);
    await this.#putEphemeral(update, requireStanding(standing, update));
  }

  /**
   * The same for several users, each on its own: null for one that was done, its error for one that was refused. Those
   * of one user in one group happen in order. An engine that fails rejects, with some of them done.
   */
  async putMany(
    project: ProjectKey,
    writes: readonly { readonly userId: string; readonly write: PresenceWrite }[],
  ): Promise<(ServiceError | null)[]> {
    const updates = writes.map(({ userId, write }) => toUpdate(project, userId, write));
    const standings = await this.#store.standings(project, updates);
    const lines = new Map<string, Promise<unknown>>();
    const outcomes = updates.map((update, index) => {
      const line = JSON.stringify([update.groupId, update.userId]);
      const outcome = (lines.get(line) ?? Promise.resolve()).then(() =>
        this.#putChecked(update, standings[index] as Standing),
      );
      lines.set(line, outcome);
      return outcome;
    });
    // When the engine fails, none of them is still under way once this has rejected.
    await Promise.allSettled(outcomes);
    return Promise.all(outcomes);
  }

  async #putChecked(update: Update, standing: Standing): Promise<ServiceError | null> {
    try {
      const incarnation = requireStanding(standing, update);
      await (update.kind === 'durable' ? this.#putDurable(update) : this.#putEphemeral(update, incarnation));
      return null;
    } catch (error) {
      if (error instanceof ServiceError) return error;
      throw error;
    }
  }

  async #putEphemeral(update: Update, incarnation: Incarnation): Promise<void> {
    const now = this.#dependencies.clock.now();
    if (update.kind === 'absent') {
      await this.#presence.clear({ ...update, now });
      return;
    }
    const expiresAt = now + this.#ttlMs;
    const { created } = await this.#presence.set({ ...update, incarnation, now, expiresAt });
    if (created) await this.#confirm(update, incarnation);
  }

  /**
   * A user may have left the group, on this process or another, between the look at their standing (a second ago, if it
   * was remembered) and the presence that came of it, too late for the leaving to clear it. A presence that was there
   * before would have been cleared.
   */
  async #confirm(update: Update, incarnation: Incarnation): Promise<void> {
    const { project, groupId, userId } = update;
    const standing = await this.#dependencies.standings.ask(project, { groupId, userId });
    if (standing.incarnation === incarnation) return;
    await this.#presence.removeUsers({ project, groupId }, [userId], this.#dependencies.clock.now());
    // The user may be a member again.
    await this.#putEphemeral(update, requireStanding(standing, update));
  }

  async #putDurable(update: Update): Promise<void> {
    const { project, groupId, userId, location, region } = update;
    const stamp = writeContext(this.#dependencies.clock);
    const place = { userId, groupId, region, location };
    const outcome = await this.#store.putDurablePresence(project, place, stamp);
    if (outcome.kind === 'refused') {
      requireStanding(outcome.standing, update);
      return;
    }
    const { previous, at, endedTo } = outcome;
    const left = previous === location ? null : previous;
    const event = { type: 'durable', userId, location, at, left } as const;
    await this.#tell(update, endedTo === null ? event : { ...event, endedTo }, stamp.now);
  }

  /** The location is stored either way; who watches and misses this reads it again when the engine is back. */
  async #tell(scope: PresenceScope, event: ToldEvent, now: number): Promise<void> {
    try {
      await this.#presence.tell(scope, event, now);
    } catch (err) {
      this.#dependencies.log.error({ err }, 'a durable presence was not told to those who watch');
    }
  }
}

function toUpdate(project: ProjectKey, userId: string, write: PresenceWrite): Update {
  const { groupID, organizationID, exclusiveWithin, durable, absent } = write;
  const location = canonicalLocation(write.location);
  return {
    project,
    kind: durable === true ? 'durable' : absent === true ? 'absent' : 'ephemeral',
    noun: groupID === undefined ? 'organization' : 'group',
    groupId: groupID ?? (organizationID as string),
    userId,
    location,
    region: exclusiveWithin === undefined ? location : canonicalLocation(exclusiveWithin),
  };
}

/** The membership of a user who may be present. @throws ServiceError */
function requireStanding(
  standing: Standing,
  { noun, groupId, userId }: Pick<Update, 'noun' | 'groupId' | 'userId'>,
): Incarnation {
  if (standing.user === null) throw userNotFound(userId);
  if (standing.user === 'deleted') throw userNotFound(userId, 'is deleted');
  if (standing.group === null) throw groupNotFound(noun, groupId);
  if (standing.group === 'deleted') throw groupNotFound(noun, groupId, 'is deleted');
  if (standing.incarnation === null) throw userNotFound(userId, `is not a member of ${noun} ${groupId}`);
  return standing.incarnation;
}

/** What the fields of an update require of each other. Takes whatever arrived: wrong types are found elsewhere. */
export function inspectPresence(write: Record<string, unknown>, findings: Findings): void {
  const { groupID, organizationID, location, exclusiveWithin } = write;
  if (groupID === undefined && organizationID === undefined) {
    findings.missing.add('groupID', 'the ID of the group in which the presence applies');
  }
  if (groupID !== undefined && organizationID !== undefined) {
    findings.invalid.add('organizationID', 'either groupID or its older name organizationID, not both');
  }
  if (write.absent === true && write.durable === true) {
    findings.invalid.add('absent', 'absent or durable, not both: an absence cannot be durable');
  }
  if (isJsonObject(location) && isJsonObject(exclusiveWithin) && !matches(location, exclusiveWithin)) {
    findings.invalid.add('location', 'a location that has every pair of exclusiveWithin');
  }
}

const matches = locationMatches as (place: object, pattern: object) => boolean;
