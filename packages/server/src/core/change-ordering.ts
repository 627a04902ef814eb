import type { Broker } from '../broker/broker.ts';
import type { Store } from '../store/store.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { Clock } from './clock.ts';
import { publish } from './publish.ts';

/** How long after a write its changes are ordered, together with those of other writes, in milliseconds. */
const DELAY_MS = 50;
/** How often changes are ordered that another process left when it ended, in milliseconds. */
const INTERVAL_MS = 1_000;

interface Parts {
  readonly store: Pick<Store, 'changes'>;
  readonly broker: Broker;
  readonly clock: Clock;
  /** Called with the projects whose changes this process has ordered: on one process for each change. */
  readonly ordered: (projects: readonly ProjectKey[]) => void;
}

/** Orders the changes of committed writes, and notifies the processes that read the changes of their projects, until closed. */
export class ChangeOrdering {
  readonly #parts: Parts;
  readonly #stop: () => void;
  readonly #written = new Set<ProjectKey>();
  #timer: NodeJS.Timeout | null = null;
  #isRunning = false;
  #isClosed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(INTERVAL_MS, () => void this.#run());
  }

  /** A write has changed something. */
  written(project: ProjectKey): void {
    this.#written.add(project);
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#isClosed || this.#isRunning) return;
    this.#timer ??= setTimeout(() => void this.#run(), DELAY_MS).unref();
  }

  async #run(): Promise<void> {
    if (this.#isClosed || this.#isRunning) return;
    this.#timer = null;
    this.#isRunning = true;
    const written = [...this.#written];
    this.#written.clear();
    const isComplete = await this.#order(written);
    this.#isRunning = false;
    if (!isComplete || this.#written.size > 0) this.#schedule();
  }

  /** Whether all changes are ordered. Where the store is away, the next interval or write tries again, and readers poll. */
  async #order(written: readonly ProjectKey[]): Promise<boolean> {
    const { store, broker, ordered } = this.#parts;
    try {
      const { newest, hasMore } = await store.changes.order(written);
      await Promise.all(
        newest.map(([project, position]) => publish(broker, { type: 'changes', project, position })),
      );
      ordered(newest.map(([project]) => project));
      return !hasMore;
    } catch {
      return true;
    }
  }
}
