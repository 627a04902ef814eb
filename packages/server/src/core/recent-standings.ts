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
/**
 * How many are remembered, but for those that are being looked up again: a bound on memory. Who comes when there are so
 * many is asked about each time.
 */
const MAX_KEPT = 40_000;
/** Most users that one announcement names; of more, all of the project are forgotten. */
const MAX_NAMED = 100;

interface Parts {
  readonly store: Pick<Store, 'isInProcess' | 'standing' | 'standings'>;
  readonly broker: Broker;
  readonly clock: Clock;
}

/** Somebody who was found to be allowed. */
interface Found extends StandingQuestion {
  readonly project: ProjectKey;
  at: number;
  /** Whether it has been used since it was last looked up, and so is to be looked up again. */
  isUsed: boolean;
  /** False once it was taken away: then nobody finds it any more. */
  isKept: boolean;
}

/** Those of a project who may be present, by user and group. */
class ProjectStandings {
  readonly #users = new Map<string, Map<string, Found>>();
  /** How often something was forgotten: a look at the store that this overtook may have seen what was before. */
  forgotten = 0;

  get isEmpty(): boolean {
    return this.#users.size === 0;
  }

  find({ groupId, userId }: StandingQuestion): Found | undefined {
    return this.#users.get(userId)?.get(groupId);
  }

  keep(found: Found): void {
    const groups = this.#users.get(found.userId);
    if (groups === undefined) this.#users.set(found.userId, new Map([[found.groupId, found]]));
    else groups.set(found.groupId, found);
  }

  drop(found: Found): void {
    found.isKept = false;
    const groups = this.#users.get(found.userId);
    groups?.delete(found.groupId);
    if (groups?.size === 0) this.#users.delete(found.userId);
  }

  forget(userIds: Iterable<string> | null): void {
    this.forgotten += 1;
    for (const userId of userIds ?? [...this.#users.keys()]) {
      for (const found of this.#users.get(userId)?.values() ?? []) found.isKept = false;
      this.#users.delete(userId);
    }
  }
}

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
  readonly #projects = new Map<ProjectKey, ProjectStandings>();
  /** All that is kept, but for what is being looked up again. */
  #kept: Found[] = [];

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
    const found = this.#projects.get(project)?.find(question);
    if (found === undefined) return false;
    const now = this.#clock.now();
    // A clock that is set back must not make it last: by no more than another second, for a step smaller than its age.
    if (now < found.at || now >= found.at + FRESH_MS) return false;
    found.isUsed = true;
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

  /** Lets go of what is old, and looks up again what was used. */
  #renew(): void {
    const now = this.#clock.now();
    const kept: Found[] = [];
    const due: Found[] = [];
    for (const found of this.#kept) {
      if (!found.isKept) continue;
      const age = Math.abs(now - found.at);
      if (found.isUsed && age >= RENEWED_AFTER_MS) {
        found.isUsed = false;
        due.push(found);
      } else if (age >= FRESH_MS) this.#drop(found);
      else kept.push(found);
    }
    this.#kept = kept;
    for (const [project, ofProject] of Map.groupBy(due, (found) => found.project)) {
      for (let from = 0; from < ofProject.length; from += MOST_TOGETHER) {
        void this.#renewTogether(project, ofProject.slice(from, from + MOST_TOGETHER));
      }
    }
  }

  async #renewTogether(project: ProjectKey, asked: readonly Found[]): Promise<void> {
    try {
      await this.#look(project, asked, () => this.#store.standings(project, asked));
    } catch {
      // They are let go in a moment, and whoever comes then is told.
    }
    for (const found of asked) this.#kept.push(found);
  }

  async #look(
    project: ProjectKey,
    asked: readonly StandingQuestion[],
    read: () => Promise<readonly Standing[]>,
  ): Promise<readonly Standing[]> {
    // The store may have changed since it was asked.
    const startedAt = this.#clock.now();
    const ofProject = this.#ofProject(project);
    const { forgotten } = ofProject;
    try {
      const standings = await read();
      // What a change overtook may be what was before it.
      if (ofProject.forgotten === forgotten && this.#projects.get(project) === ofProject) {
        for (const [index, question] of asked.entries())
          this.#learn(ofProject, project, question, standings[index] as Standing, startedAt);
      }
      return standings;
    } finally {
      this.#tidy(project, ofProject);
    }
  }

  #learn(
    ofProject: ProjectStandings,
    project: ProjectKey,
    question: StandingQuestion,
    standing: Standing,
    askedAt: number,
  ): void {
    const found = ofProject.find(question);
    if (!isAllowed(standing)) {
      if (found !== undefined) ofProject.drop(found);
    } else if (found === undefined) {
      this.#keep(ofProject, project, question, askedAt);
    } else if (found.at < askedAt || found.at > this.#clock.now()) {
      // Somebody who was asked later may have been answered sooner.
      found.at = askedAt;
    }
  }

  #ofProject(project: ProjectKey): ProjectStandings {
    let ofProject = this.#projects.get(project);
    if (ofProject === undefined) {
      ofProject = new ProjectStandings();
      this.#projects.set(project, ofProject);
    }
    return ofProject;
  }

  #keep(
    ofProject: ProjectStandings,
    project: ProjectKey,
    { groupId, userId }: StandingQuestion,
    at: number,
  ): void {
    if (this.#kept.length >= MAX_KEPT) return;
    const found = { project, groupId, userId, at, isUsed: false, isKept: true };
    ofProject.keep(found);
    this.#kept.push(found);
  }

  #drop(found: Found): void {
    const ofProject = this.#projects.get(found.project);
    if (ofProject === undefined) return;
    ofProject.drop(found);
    this.#tidy(found.project, ofProject);
  }

  #forget(project: ProjectKey, userIds: readonly string[] | null): void {
    const ofProject = this.#projects.get(project);
    if (ofProject === undefined) return;
    ofProject.forget(userIds);
    this.#tidy(project, ofProject);
  }

  /** A look that is under way finds its project gone then, and keeps nothing. */
  #tidy(project: ProjectKey, ofProject: ProjectStandings): void {
    if (ofProject.isEmpty && this.#projects.get(project) === ofProject) this.#projects.delete(project);
  }
}

function isAllowed({ user, group, member }: Standing): boolean {
  return user === 'active' && group === 'active' && member;
}
