import type { Broker } from '../broker/broker.ts';
import { ProjectsInUse } from '../broker/projects-in-use.ts';
import {
  type Eligibility,
  type EligibilityQuery,
  type EligibilityStore,
  isEligible,
} from '../store/ports/eligibility.ts';
import type { Store } from '../store/store.ts';
import type { Incarnation } from '../values/incarnation.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { Clock } from './clock.ts';
import { publish } from './publish.ts';

/** How long an answer of the store is used, in milliseconds: within this time a change of another process takes effect. */
const TTL_MS = 1_000;
/** A bound on memory. When the cache is full, eligibility is read from the store on every update. */
const ENTRIES_MAX = 40_000;
/** Most users that one invalidation names; above, it names the whole project. */
const NAMED_MAX = 100;

interface Parts {
  readonly store: Pick<Store, 'isInProcess'> & { readonly eligibility: Pick<EligibilityStore, 'find'> };
  readonly broker: Broker;
  readonly clock: Clock;
}

/** When the store was read, or eligibility invalidated: the time, and how many invalidations there had been. */
interface Moment {
  at: number;
  generation: number;
}

/** An answer about one user in one group. */
export interface LastEligibility extends Moment {
  /** Null where the user is not eligible, and before the first answer. */
  incarnation: Incarnation | null;
}

/**
 * Caches for a second that a user is eligible in a group. Only eligible users are cached, so a new member is accepted at
 * once. A write that ends eligibility is published, before it is answered, to the processes that have cached users of the project of
 * late; a process that misses it is right again within the second. An answer that was read before an invalidation is not used after
 * it.
 *
 * A caller that updates one presence again and again stores the last answer, and passes it as `last`. Others share a map of bounded size
 * where the store is another server: a store in this process is read for them each time, which costs less than the map.
 */
export class EligibilityCache {
  readonly #store: Parts['store'];
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #projects: ProjectsInUse;
  readonly #stops: readonly (() => void)[];
  /** By project, user and group; the oldest first. */
  readonly #entries = new Map<string, LastEligibility>();
  /** The last invalidation of each user, or of a whole project; the oldest first. Older ones concern expired entries only. */
  readonly #invalidations = new Map<string, Moment>();
  #generation = 0;
  /** Answers of an earlier generation are not used: the clock was set back, and would reach their times once more. */
  #firstGeneration = 0;
  #latest = 0;

  constructor({ store, broker, clock }: Parts) {
    this.#store = store;
    this.#broker = broker;
    this.#clock = clock;
    this.#projects = new ProjectsInUse(broker, 'eligibility');
    this.#stops = [
      () => this.#projects.close(),
      broker.subscribe((change) => {
        if (change.type === 'eligibility') this.#invalidate(change.project, change.userIds ?? [null]);
      }),
      clock.every(TTL_MS, () => {
        this.#dropExpired();
        this.#projects.tick();
      }),
    ];
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** The membership of a user whom the cache knows to be eligible; else null. */
  cached(project: ProjectKey, query: EligibilityQuery, last: LastEligibility | null): Incarnation | null {
    const known = last ?? this.#entryOf(project, query);
    if (known === undefined || known.incarnation === null || this.#isExpired(known)) return null;
    return this.#isInvalidated(known, project, query.userId) ? null : known.incarnation;
  }

  /** Reads the store, and caches the answer where the user is eligible. @throws StoreUnavailableError (a rejection) */
  read(project: ProjectKey, query: EligibilityQuery, last: LastEligibility | null): Promise<Eligibility> {
    const { isInProcess, eligibility } = this.#store;
    return isInProcess && last === null
      ? eligibility.find(project, query.groupId, query.userId)
      : this.#readAndCache(project, query, last);
  }

  async #readAndCache(
    project: ProjectKey,
    query: EligibilityQuery,
    last: LastEligibility | null,
  ): Promise<Eligibility> {
    // Before the store is read: what is cached of it is known to have ended.
    this.#projects.use(project);
    const at = this.#now();
    const generation = this.#generation;
    const found = await this.#store.eligibility.find(project, query.groupId, query.userId);
    const incarnation = isEligible(found) ? found.incarnation : null;
    if (last === null) {
      this.#setEntry(project, query, { at, generation, incarnation });
      return found;
    }
    // In place: an object that lives for a second is one that a full collection has to free.
    last.at = at;
    last.generation = generation;
    last.incarnation = incarnation;
    return found;
  }

  #entryOf(project: ProjectKey, { groupId, userId }: EligibilityQuery): LastEligibility | undefined {
    return this.#entries.size === 0 ? undefined : this.#entries.get(entryKey(project, groupId, userId));
  }

  #setEntry(project: ProjectKey, { groupId, userId }: EligibilityQuery, answer: LastEligibility): void {
    const key = entryKey(project, groupId, userId);
    this.#entries.delete(key);
    if (answer.incarnation !== null && this.#entries.size < ENTRIES_MAX) this.#entries.set(key, answer);
  }

  /** Call it after the commit of a write that may have ended the eligibility of these users, or of all (null). Never rejects. */
  async invalidate(project: ProjectKey, userIds: readonly string[] | null): Promise<void> {
    const named = userIds !== null && userIds.length <= NAMED_MAX ? userIds : null;
    await publish(this.#broker, { type: 'eligibility', project, userIds: named });
  }

  #invalidate(project: ProjectKey, userIds: readonly (string | null)[]): void {
    this.#generation += 1;
    const moment = { at: this.#now(), generation: this.#generation };
    for (const userId of userIds) {
      const key = invalidationKey(project, userId);
      this.#invalidations.delete(key);
      this.#invalidations.set(key, moment);
    }
  }

  #isInvalidated({ generation }: Moment, project: ProjectKey, userId: string): boolean {
    if (generation < this.#firstGeneration) return true;
    if (this.#invalidations.size === 0) return false;
    const ofUser = this.#invalidations.get(invalidationKey(project, userId));
    const ofProject = this.#invalidations.get(invalidationKey(project, null));
    return generation < Math.max(ofUser?.generation ?? 0, ofProject?.generation ?? 0);
  }

  /** After a second, and after the clock was set back. */
  #isExpired({ at }: Moment): boolean {
    const age = this.#now() - at;
    return age < 0 || age >= TTL_MS;
  }

  #now(): number {
    const now = this.#clock.now();
    if (now < this.#latest) {
      this.#generation += 1;
      this.#firstGeneration = this.#generation;
    }
    this.#latest = now;
    return now;
  }

  #dropExpired(): void {
    for (const moments of [this.#entries, this.#invalidations]) {
      for (const [key, moment] of moments) {
        if (!this.#isExpired(moment)) break;
        moments.delete(key);
      }
    }
  }
}

/** Before the first answer. */
export const noEligibility = (): LastEligibility => ({ at: 0, generation: 0, incarnation: null });

// No ID has a NUL.
const entryKey = (project: ProjectKey, groupId: string, userId: string) =>
  `${project}\0${userId}\0${groupId}`;
const invalidationKey = (project: ProjectKey, userId: string | null) =>
  userId === null ? `${project}` : `${project}\0${userId}`;
