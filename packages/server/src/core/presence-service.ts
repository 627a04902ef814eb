import {
  canonicalLocation,
  type Findings,
  isJsonObject,
  locationMatches,
  type PresenceWrite,
} from '@rollcall/protocol';
import type { PresenceScope, PresenceStore } from '../presence/presence-store.ts';
import type { Json, ProjectKey, Standing, Store } from '../store/store.ts';
import type { GroupDependencies } from './group-service.ts';
import { type GroupNoun, groupNotFound, userNotFound } from './refusals.ts';
import { writeContext } from './write-context.ts';

export interface PresenceDependencies extends GroupDependencies {
  readonly presenceTtlSeconds: number;
}

/** A checked update with its locations in canonical form. */
interface Placing extends PresenceScope {
  readonly userId: string;
  readonly location: Json;
  readonly region: Json;
}

/** How often expired presence is dropped, in milliseconds. Readings leave it out before that. */
const SWEEP_INTERVAL_MS = 1_000;

/** Setting users present and absent. Reading is `presence-reading.ts`. */
export class PresenceService {
  readonly #store: Store;
  readonly #presence: PresenceStore;
  readonly #dependencies: PresenceDependencies;
  readonly #ttlMs: number;
  readonly #stopSweeping: () => void;
  #sweeping = false;

  constructor(dependencies: PresenceDependencies) {
    this.#store = dependencies.store;
    this.#presence = dependencies.presence;
    this.#dependencies = dependencies;
    this.#ttlMs = dependencies.presenceTtlSeconds * 1_000;
    this.#stopSweeping = dependencies.clock.every(SWEEP_INTERVAL_MS, () => void this.#sweep());
  }

  close(): void {
    this.#stopSweeping();
  }

  /** @throws ServiceError when the user or the group may not act, or the user is no member */
  async put(project: ProjectKey, userId: string, write: PresenceWrite): Promise<void> {
    const noun: GroupNoun = write.groupID === undefined ? 'organization' : 'group';
    const groupId = write.groupID ?? (write.organizationID as string);
    const location = canonicalLocation(write.location);
    const region = write.exclusiveWithin === undefined ? location : canonicalLocation(write.exclusiveWithin);
    const placing = { project, groupId, userId, location, region };
    if (write.durable === true) return this.#putDurable(noun, placing);
    requireStanding(await this.#store.standing(project, groupId, userId), noun, groupId, userId);
    const now = this.#dependencies.clock.now();
    if (write.absent === true) await this.#presence.clear({ ...placing, now });
    else await this.#presence.set({ ...placing, now, expiresAt: now + this.#ttlMs });
  }

  async #putDurable(noun: GroupNoun, { project, ...update }: Placing): Promise<void> {
    const context = writeContext(this.#dependencies.clock);
    const outcome = await this.#store.putDurablePresence(project, update, context);
    if (outcome.kind === 'refused') requireStanding(outcome.standing, noun, update.groupId, update.userId);
  }

  /** One sweep at a time; a failed one is made up for by the next. */
  async #sweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      await this.#presence.sweep(this.#dependencies.clock.now());
    } catch (err) {
      this.#dependencies.log.error({ err }, 'expired presence was not dropped');
    } finally {
      this.#sweeping = false;
    }
  }
}

function requireStanding(standing: Standing, noun: GroupNoun, groupId: string, userId: string): void {
  if (standing.user === null) throw userNotFound(userId);
  if (standing.user === 'deleted') throw userNotFound(userId, 'is deleted');
  if (standing.group === null) throw groupNotFound(noun, groupId);
  if (standing.group === 'deleted') throw groupNotFound(noun, groupId, 'is deleted');
  if (!standing.member) throw userNotFound(userId, `is not a member of ${noun} ${groupId}`);
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
