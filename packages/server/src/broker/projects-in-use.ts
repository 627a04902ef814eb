import type { ProjectKey } from '../values/project-key.ts';
import type { Broker, Subject } from './broker.ts';

/** For how many ticks after its last use a project is followed: one that is used now and then is not followed anew each time. */
const RETAINED_TICKS = 30;

/** Follows one type of change of the projects that this process uses. It remembers the projects that were used of late. */
export class ProjectsInUse {
  readonly #broker: Pick<Broker, 'follow'>;
  readonly #type: 'eligibility' | 'changes';
  readonly #used = new Map<ProjectKey, { ticksLeft: number; readonly end: () => void }>();

  constructor(broker: Pick<Broker, 'follow'>, type: 'eligibility' | 'changes') {
    this.#broker = broker;
    this.#type = type;
  }

  /**
   * Follows the project from now on. Call it at the beginning of each use, and in each tick while the use goes on. Changes of the
   * moment after the first call can be missed.
   */
  use(project: ProjectKey): void {
    const used = this.#used.get(project);
    if (used !== undefined) {
      used.ticksLeft = RETAINED_TICKS;
      return;
    }
    const subject: Subject = { type: this.#type, project };
    this.#used.set(project, { ticksLeft: RETAINED_TICKS, end: this.#broker.follow(subject) });
  }

  /** Call it every second or two. */
  tick(): void {
    for (const [project, used] of this.#used) {
      used.ticksLeft -= 1;
      if (used.ticksLeft > 0) continue;
      used.end();
      this.#used.delete(project);
    }
  }

  /** Follows no project any more. Idempotent. */
  close(): void {
    for (const { end } of this.#used.values()) end();
    this.#used.clear();
  }
}
