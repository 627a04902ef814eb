import type { Broker } from '../broker/broker.ts';
import type { ProjectKey, Standing, StandingQuestion, Store } from '../store/store.ts';
import { announce } from './announce.ts';
import type { Clock } from './clock.ts';

/** After this the store has been asked again, so that what another process changed takes effect within a second. */
const FRESH_MS = 1_000;
/** At this age what has been used is looked up again, for many at once; so nobody waits for it who comes often. */
const RENEWED_AFTER_MS = 500;
const RENEWAL_INTERVAL_MS = 100;
/** Most that one question to the store looks up again. */
const MOST_TOGETHER = 1_000;
/** How many standings are kept in each of the two generations: a bound on memory. */
const MAX_KEPT = 20_000;
/** Most users that one announcement names; of more, all of the project are forgotten. */
const MAX_NAMED = 100;

interface Parts {
  readonly store: Pick<Store, 'isInProcess' | 'standing' | 'standings'>;
  readonly broker: Broker;
  readonly clock: Clock;
}

/** Somebody who was found to be allowed. */
interface Found extends StandingQuestion {
  readonly at: number;
  /** Whether it has been used, and so is to be looked up again. */
  isUsed: boolean;
}

/** Those of a project who may be present, by user and group. */
class ProjectStandings {
  readonly #users = new Map<string, Map<string, Found>>();
  /** How often something was forgotten: a look at the store that this overtook may have seen what was before. */
  forgotten = 0;

  find({ groupId, userId }: StandingQuestion): Found | undefined {
    return this.#users.get(userId)?.get(groupId);
  }

  keep({ groupId, userId }: StandingQuestion, at: number): void {
    const found = { groupId, userId, at, isUsed: false };
    const groups = this.#users.get(userId);
    if (groups === undefined) this.#users.set(userId, new Map([[groupId, found]]));
    else groups.set(groupId, found);
  }

  drop({ groupId, userId }: StandingQuestion): void {
    this.#users.get(userId)?.delete(groupId);
  }

  forget(userIds: readonly string[]): void {
    this.forgotten += 1;
    for (const userId of userIds) this.#users.delete(userId);
  }
}

type Generation = Map<ProjectKey, ProjectStandings>;

/**
 * Who may be present where, remembered for a second at most: somebody who moves through a document says so several times
 * a second. Only that somebody may is kept, never a refusal. What takes it away is told to every process before the write
 * that did so is answered; a process that cannot be told is right again within the second. Of a store in this process
 * nothing is remembered: asking it costs less.
 */
export class RecentStandings {
  readonly #store: Parts['store'];
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #stops: readonly (() => void)[];
  /** What was found lately, and before that; the older one goes as a whole. */
  #current: Generation = new Map();
  #previous: Generation = new Map();
  #begunAt = 0;
  #kept = 0;
  /** Those who came again since they were found. */
  #due = new Map<ProjectKey, Found[]>();

  constructor({ store, broker, clock }: Parts) {
    this.#store = store;
    this.#broker = broker;
    this.#clock = clock;
    this.#stops = [
      broker.subscribe((change) => {
        if (change.type === 'standing') this.#forget(change.project, change.userIds);
      }),
      clock.every(RENEWAL_INTERVAL_MS, () => this.#renew()),
    ];
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** Whether the user was allowed to be present in the group less than a second ago, and nothing took it away since. */
  isAllowed(project: ProjectKey, question: StandingQuestion): boolean {
    if (this.#store.isInProcess) return false;
    const now = this.#clock.now();
    const found = this.#find(project, question);
    // A clock that is set back must not make it last: by no more than another second, for a step smaller than its age.
    if (found === undefined || now < found.at || now >= found.at + FRESH_MS) return false;
    if (!found.isUsed) {
      found.isUsed = true;
      this.#enter(project, found);
    }
    return true;
  }

  /** Asks the store, and remembers that the user may be present if so. @throws StoreUnavailableError */
  async ask(project: ProjectKey, question: StandingQuestion): Promise<Standing> {
    const { groupId, userId } = question;
    if (this.#store.isInProcess) return this.#store.standing(project, groupId, userId);
    const [standing] = await this.#look(project, [question], async () => [
      await this.#store.standing(project, groupId, userId),
    ]);
    return standing as Standing;
  }

  /**
   * To be called once a write is committed that may have taken it from these users, or from any of the project's (null).
   * Forgets here at once and tells the other processes.
   */
  async changed(project: ProjectKey, userIds: readonly string[] | null): Promise<void> {
    if (this.#store.isInProcess) return;
    const named = userIds !== null && userIds.length <= MAX_NAMED ? userIds : null;
    await announce(this.#broker, { type: 'standing', project, userIds: named });
  }

  #find(project: ProjectKey, question: StandingQuestion): Found | undefined {
    return this.#current.get(project)?.find(question) ?? this.#previous.get(project)?.find(question);
  }

  #renew(): void {
    const now = this.#clock.now();
    this.#turnOver(now);
    const used = this.#due;
    this.#due = new Map();
    for (const [project, all] of used) {
      const isDue = (found: Found) => Math.abs(now - found.at) >= RENEWED_AFTER_MS;
      const later = all.filter((found) => !isDue(found));
      if (later.length > 0) this.#due.set(project, later);
      const due = all.filter(isDue);
      for (let from = 0; from < due.length; from += MOST_TOGETHER) {
        void this.#renewTogether(project, due.slice(from, from + MOST_TOGETHER));
      }
    }
  }

  #enter(project: ProjectKey, found: Found): void {
    const used = this.#due.get(project);
    if (used === undefined) this.#due.set(project, [found]);
    else used.push(found);
  }

  async #renewTogether(project: ProjectKey, asked: readonly Found[]): Promise<void> {
    try {
      await this.#look(project, asked, () => this.#store.standings(project, asked));
    } catch {
      // They are forgotten in a moment, and whoever comes then is told.
    }
    // What was found now is another object; where that was not kept, this one may be looked up again.
    for (const found of asked) found.isUsed = false;
  }

  async #look(
    project: ProjectKey,
    asked: readonly StandingQuestion[],
    read: () => Promise<readonly Standing[]>,
  ): Promise<readonly Standing[]> {
    // The store may have changed since it was asked.
    const startedAt = this.#clock.now();
    const kept = this.#keptOf(project, startedAt);
    const { forgotten } = kept;
    const standings = await read();
    if (kept.forgotten === forgotten && this.#current.get(project) === kept) {
      for (const [index, question] of asked.entries()) {
        if (isAllowed(standings[index] as Standing)) {
          kept.keep(question, startedAt);
          this.#kept += 1;
        } else this.#drop(project, question);
      }
    }
    return standings;
  }

  #turnOver(now: number): void {
    if (Math.abs(now - this.#begunAt) < FRESH_MS && this.#kept < MAX_KEPT) return;
    this.#previous = this.#current;
    this.#current = new Map();
    this.#begunAt = now;
    this.#kept = 0;
  }

  #keptOf(project: ProjectKey, now: number): ProjectStandings {
    this.#turnOver(now);
    const kept = this.#current.get(project) ?? new ProjectStandings();
    this.#current.set(project, kept);
    return kept;
  }

  #drop(project: ProjectKey, question: StandingQuestion): void {
    for (const generation of [this.#current, this.#previous]) generation.get(project)?.drop(question);
  }

  #forget(project: ProjectKey, userIds: readonly string[] | null): void {
    for (const generation of [this.#current, this.#previous]) {
      if (userIds === null) generation.delete(project);
      else generation.get(project)?.forget(userIds);
    }
  }
}

function isAllowed({ user, group, member }: Standing): boolean {
  return user === 'active' && group === 'active' && member;
}
