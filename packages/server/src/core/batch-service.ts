import { Findings } from '@rollcall/protocol';
import type { BatchOutcome, BatchRequest, ProjectKey, Store } from '../store/store.ts';
import { afterCommit } from './after-commit.ts';
import { addMisfit, findingsError, type Misfit } from './findings-error.ts';
import type { GroupDependencies } from './group-service.ts';
import { unknownReferences } from './refusals.ts';
import { ServiceError } from './service-error.ts';
import { writeContext } from './write-context.ts';

export type BatchApplied = Extract<BatchOutcome, { kind: 'applied' }>;

/** Creates or updates many users and groups, all or nothing. */
export class BatchService {
  readonly #store: Store;
  readonly #dependencies: GroupDependencies;

  constructor(dependencies: GroupDependencies) {
    this.#store = dependencies.store;
    this.#dependencies = dependencies;
  }

  /** @throws ServiceError with every item that failed at the first step that failed */
  async apply(project: ProjectKey, batch: BatchRequest): Promise<BatchApplied> {
    const context = writeContext(this.#dependencies.clock);
    const outcome = await this.#store.applyBatch(project, batch, context);
    switch (outcome.kind) {
      case 'malformed':
        throw new ServiceError('invalid_request', outcome.message);
      case 'misfit':
        throw findingsError(outcome.findings);
      case 'unknownUsers':
        throw unknownReferences(outcome.references, outcome.count);
    }
    if (!batch.dryRun) await afterCommit(this.#dependencies, project, outcome.effects);
    return outcome;
  }

  /**
   * Refuses a batch whose query is wrong already. The body is checked too, without applying it, because a step runs
   * over the whole request before the next one.
   */
  async refuse(project: ProjectKey, body: Uint8Array, misfit: Misfit): Promise<never> {
    const dryRun = { body, dryRun: true };
    const outcome = await this.#store.applyBatch(project, dryRun, writeContext(this.#dependencies.clock));
    if (outcome.kind === 'malformed') throw new ServiceError('invalid_request', outcome.message);
    const all = new Findings();
    addMisfit(all, misfit);
    if (outcome.kind === 'misfit') addMisfit(all, outcome.findings);
    throw findingsError(all);
  }
}
