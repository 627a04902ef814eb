import type { Clock } from '../core/clock.ts';
import type { ProjectRecord, ProjectStore } from '../store/ports/projects.ts';
import type { Basis } from './resolver.ts';

/** A project whose tokens are verified with these secrets. */
interface KnownProject extends ProjectRecord, Basis {
  readAt: number;
}

/** How many projects are remembered: a bound on memory. */
const PROJECTS_MAX = 10_000;

/**
 * The projects as they were read last. A project whose secrets are the same as before is the same object, with a later `readAt`: so
 * one read renews all tokens that were verified with it, whose signatures do not change. After a read that finds another secret, or no
 * project, the earlier object is renewed no more. Reads can be answered in another order than they began: tokens are verified again sooner
 * then.
 */
export class KnownProjects implements Pick<ProjectStore, 'find'> {
  readonly #store: Pick<ProjectStore, 'find'>;
  readonly #clock: Clock;
  readonly #known = new Map<string, KnownProject>();

  constructor(store: Pick<ProjectStore, 'find'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads the project each time. @throws StoreUnavailableError (a rejection) */
  async find(id: string): Promise<KnownProject | null> {
    const readAt = this.#clock.now();
    const record = await this.#store.find(id);
    const known = this.#known.get(id);
    const project = record === null ? null : { ...record, readAt };
    if (known !== undefined && project !== null && hasSameSecrets(known, project)) {
      known.readAt = readAt;
      return known;
    }
    this.#known.delete(id);
    if (project === null) return null;
    for (const oldest of this.#known.keys()) {
      if (this.#known.size < PROJECTS_MAX) break;
      this.#known.delete(oldest);
    }
    this.#known.set(id, project);
    return project;
  }
}

const hasSameSecrets = (one: ProjectRecord, other: ProjectRecord) =>
  one.key === other.key &&
  one.secret === other.secret &&
  one.previousSecret === other.previousSecret &&
  one.previousValidUntil === other.previousValidUntil;
