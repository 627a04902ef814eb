import { ValidationErrors } from '@rollcall/protocol';
import type { BatchOutcome, BatchRequest } from '../store/ports/batches.ts';
import type { Store } from '../store/store.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { Writer } from './caller.ts';
import type { Clock } from './clock.ts';
import { unknownReferences } from './errors.ts';
import { ServiceError } from './service-error.ts';
import type { StoreWrites } from './store-writes.ts';
import { type ErrorsByStep, mergeErrors, validationError } from './validation-error.ts';
import { BY_SERVICE, writeContext } from './write-context.ts';

type BatchApplied = Extract<BatchOutcome, { kind: 'applied' }>;

interface Parts {
  readonly store: Pick<Store, 'batches'>;
  readonly clock: Clock;
  readonly writes: StoreWrites;
}

/** Creates or updates many users and groups, all or nothing. */
export class BatchService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A dry run has no changes. @throws ServiceError with every item that failed at the first step that failed */
  apply(writer: Writer, batch: BatchRequest): Promise<BatchApplied> {
    const { store, writes } = this.#parts;
    return writes.run(writer, {}, (context) => store.batches.apply(writer.project, batch, context), {
      malformed: ({ message }) => new ServiceError('invalid_request', message),
      invalid: ({ errors }) => validationError(errors),
      unknownUsers: ({ references, count }) => unknownReferences(references, count),
    });
  }

  /**
   * Rejects a batch whose query is already invalid. The body is checked too, without applying it, because a step runs over
   * the whole request before the next one.
   */
  async rejectInvalid(project: ProjectKey, body: Uint8Array, errors: ErrorsByStep): Promise<never> {
    const { store, clock } = this.#parts;
    const context = writeContext(clock, BY_SERVICE);
    const outcome = await store.batches.apply(project, { body, dryRun: true }, context);
    if (outcome.kind === 'malformed') throw new ServiceError('invalid_request', outcome.message);
    const all = new ValidationErrors();
    mergeErrors(all, errors);
    if (outcome.kind === 'invalid') mergeErrors(all, outcome.errors);
    throw validationError(all);
  }
}
