import type { Broker } from '../broker/broker.ts';
import type { Incarnation, ProjectKey, Standing, StandingQuestion, Store } from '../store/store.ts';
import { announce } from './announce.ts';
import type { Clock } from './clock.ts';

/** After this the store has been asked again, so that what another process changed takes effect within a second. */
const FRESH_MS = 1_000;
/** At this age they are looked up again, many at once; so nobody waits for it who comes every second or so. */
const RENEWED_AFTER_MS = 700;
const RENEWAL_INTERVAL_MS = 100;
/** Most that one question to the store looks up again. */
const MOST_TOGETHER = 1_000;
/** How many are remembered: a bound on memory. Who comes when there are so many is asked about each time. */
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
  incarnation: Incarnation;
  /** When the store was asked. */
  at: number;
  /** Whether it has been used since it was last looked up. */
  isUsed: boolean;
  /** Whether it had not been used when it was last looked up: it is not done for nothing twice. */
  wasIdle: boolean;
  /** False once it was taken away: then nobody finds it any more. */
  isKept: boolean;
}

/** Those of a project who may be present, by user and group. */
class ProjectStandings {
  /** One map, not one for each user: what is found takes half of the looks into memory that is not at hand. */
  readonly #all = new Map<string, Found>();
  readonly #ofUsers = new Map<string, Set<Found>>();
  /** How often something was forgotten: a look at the store that this overtook may have seen what was before. */
  forgotten = 0;

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  find(question: StandingQuestion): Found | undefined {
    return this.#all.get(nameOf(question));
  }

  keep(found: Found): void {
    this.#all.set(nameOf(found), found);
    const ofUser = this.#ofUsers.get(found.userId);
    if (ofUser === undefined) this.#ofUsers.set(found.userId, new Set([found]));
    else ofUser.add(found);
  }

  drop(found: Found): void {
    this.#remove(found);
    const ofUser = this.#ofUsers.get(found.userId);
    ofUser?.delete(found);
    if (ofUser?.size === 0) this.#ofUsers.delete(found.userId);
  }

  /** Gives how many it was. */
  forget(userIds: Iterable<string> | null): number {
    this.forgotten += 1;
    const before = this.#all.size;
    for (const userId of userIds ?? [...this.#ofUsers.keys()]) {
      for (const found of this.#ofUsers.get(userId) ?? []) this.#remove(found);
      this.#ofUsers.delete(userId);
    }
    return before - this.#all.size;
  }

  #remove(found: Found): void {
    found.isKept = false;
    this.#all.delete(nameOf(found));
  }
}

/** No ID has a NUL. */
const nameOf = ({ groupId, userId }: StandingQuestion) => `${groupId}\0${userId}`;

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
  /** All that is kept, but for what is being looked up again; and some that was taken away. */
  #kept: Found[] = [];
  /** How many are kept. */
  #count = 0;

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

  /**
   * The membership of a user who was allowed to be present in the group less than a second ago, and nothing took it away
   * since; else null.
   */
  remembered(project: ProjectKey, question: StandingQuestion): Incarnation | null {
    if (this.#store.isInProcess) return null;
    const found = this.#projects.get(project)?.find(question);
    if (found === undefined) return null;
    const now = this.#clock.now();
    // A clock that is set back must not make it last: by no more than another second, for a step smaller than its age.
    if (now < found.at || now >= found.at + FRESH_MS) return null;
    found.isUsed = true;
    return found.incarnation;
  }

  /** Asks the store, and remembers that the user may be present if so. @throws StoreUnavailableError */
  async ask(project: ProjectKey, question: StandingQuestion): Promise<Standing> {
    const { groupId, userId } = question;
    if (this.#store.isInProcess) return this.#store.standing(project, groupId, userId);
    const [standing] = await this.#look(
      project,
      async () => [await this.#store.standing(project, groupId, userId)],
      (ofProject, [found], at) => this.#learn(ofProject, { project, groupId, userId }, at, found as Standing),
    );
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

  /** Lets go of what is old, and looks up again what was used or has not been looked up again yet. */
  #renew(): void {
    const now = this.#clock.now();
    const kept: Found[] = [];
    const due: Found[] = [];
    for (const found of this.#kept) {
      if (!found.isKept) continue;
      // By its amount: a clock may be set back.
      const age = Math.abs(now - found.at);
      if (age >= FRESH_MS) this.#drop(found);
      else if (age >= RENEWED_AFTER_MS && (found.isUsed || !found.wasIdle)) due.push(found);
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
    for (const found of asked) {
      found.wasIdle = !found.isUsed;
      found.isUsed = false;
    }
    try {
      await this.#look(
        project,
        () => this.#store.standings(project, asked),
        (_ofProject, standings, askedAt) => {
          for (const [index, found] of asked.entries()) {
            if (!found.isKept) continue;
            const standing = standings[index] as Standing;
            if (isAllowed(standing)) this.#renewOne(found, standing.incarnation, askedAt);
            else this.#drop(found);
          }
        },
      );
    } catch {
      // They are let go in a moment, and whoever comes then is told.
    }
    // What was used before and is not renewed is due again at once, as long as it is fresh.
    for (const found of asked) this.#kept.push(found);
  }

  /** Asks the store. `learn` is given the answer, unless a change overtook it: then it may be what was before. */
  async #look(
    project: ProjectKey,
    read: () => Promise<readonly Standing[]>,
    learn: (ofProject: ProjectStandings, standings: readonly Standing[], askedAt: number) => void,
  ): Promise<readonly Standing[]> {
    // The store may have changed since it was asked.
    const askedAt = this.#clock.now();
    const ofProject = this.#ofProject(project);
    const { forgotten } = ofProject;
    try {
      const standings = await read();
      if (ofProject.forgotten === forgotten && this.#projects.get(project) === ofProject)
        learn(ofProject, standings, askedAt);
      return standings;
    } finally {
      this.#tidy(project, ofProject);
    }
  }

  #learn(
    ofProject: ProjectStandings,
    asked: Pick<Found, 'project' | 'groupId' | 'userId'>,
    at: number,
    standing: Standing,
  ): void {
    const known = ofProject.find(asked);
    if (!isAllowed(standing)) {
      if (known !== undefined) this.#drop(known);
    } else if (known !== undefined) {
      this.#renewOne(known, standing.incarnation, at);
    } else if (this.#count < MAX_KEPT) {
      const { incarnation } = standing;
      const kept = { ...asked, at, incarnation, isUsed: false, wasIdle: false, isKept: true };
      this.#count += 1;
      ofProject.keep(kept);
      this.#kept.push(kept);
    }
  }

  /** Answers can arrive out of order: the one that was asked for later counts, unless the clock was set back. */
  #renewOne(found: Found, incarnation: Incarnation, askedAt: number): void {
    if (found.at >= askedAt && found.at <= this.#clock.now()) return;
    found.at = askedAt;
    found.incarnation = incarnation;
  }

  #ofProject(project: ProjectKey): ProjectStandings {
    let ofProject = this.#projects.get(project);
    if (ofProject === undefined) {
      ofProject = new ProjectStandings();
      this.#projects.set(project, ofProject);
    }
    return ofProject;
  }

  #drop(found: Found): void {
    const ofProject = this.#projects.get(found.project);
    if (ofProject === undefined) return;
    ofProject.drop(found);
    this.#count -= 1;
    this.#tidy(found.project, ofProject);
  }

  #forget(project: ProjectKey, userIds: readonly string[] | null): void {
    const ofProject = this.#projects.get(project);
    if (ofProject === undefined) return;
    this.#count -= ofProject.forget(userIds);
    this.#tidy(project, ofProject);
  }

  /** A look that is under way finds its project gone then, and keeps nothing. */
  #tidy(project: ProjectKey, ofProject: ProjectStandings): void {
    if (ofProject.isEmpty && this.#projects.get(project) === ofProject) this.#projects.delete(project);
  }
}

function isAllowed(standing: Standing): standing is Standing & { readonly incarnation: Incarnation } {
  const { user, group, incarnation } = standing;
  return user === 'active' && group === 'active' && incarnation !== null;
}
