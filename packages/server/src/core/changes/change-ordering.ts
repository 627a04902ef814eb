import type { Logger } from 'pino';
import type { Broker } from '../../broker/broker.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Clock } from '../clock.ts';
import { publish } from '../publish.ts';

/** How long after a write its changes are ordered, together with those of other writes, in milliseconds. */
const DELAY_MS = 50;
/** How often changes are ordered that another process left when it ended, in milliseconds. */
const INTERVAL_MS = 1_000;

interface Parts {
  readonly store: Pick<Store, 'changes'>;
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the projects whose changes this process has ordered: on one process for each change. */
  readonly ordered: (projects: readonly ProjectKey[]) => void;
}

/** Orders the changes of committed writes, and notifies the processes that read the changes of their projects, until closed. */
export class ChangeOrdering {
  readonly #parts: Parts;
  readonly #stop: () => void;
  readonly #written = new Set<ProjectKey>();
  readonly #order = new Repeated(() => this.#orderWritten());

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(INTERVAL_MS, () => void this.#order.request());
  }

  /** A write has changed something. */
  written(project: ProjectKey): void {
    this.#written.add(project);
    this.#order.requestAfter(DELAY_MS);
  }

  close(): void {
    this.#stop();
    void this.#order.close();
  }

  /** Where that fails, the next interval or write tries again, and readers poll. */
  async #orderWritten(): Promise<void> {
    const { store, broker, log, ordered } = this.#parts;
    const written = [...this.#written];
    this.#written.clear();
    try {
      const { newest, hasMore } = await store.changes.order(written);
      await Promise.all(
        newest.map(([project, position]) => publish(broker, { type: 'changes', project, position })),
      );
      ordered(newest.map(([project]) => project));
      if (hasMore) this.#order.requestAfter(DELAY_MS);
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        log.error(
          { err },
          'changes could not be ordered; their readers get them when a later attempt succeeds',
        );
    }
  }
}
