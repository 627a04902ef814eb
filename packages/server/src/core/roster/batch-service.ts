import { ValidationErrors } from '@rollcall/protocol';
import type { BatchOutcome, BatchRequest } from '../../store/ports/batches.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { BY_SERVICE } from '../changes/origins.ts';
import { unknownReferences } from '../errors.ts';
import { ResourceService } from '../resource-service.ts';
import { ServiceError } from '../service-error.ts';
import { type ErrorsByStep, mergeErrors, validationError } from '../validation-error.ts';

type BatchApplied = Extract<BatchOutcome, { kind: 'applied' }>;

/** Creates or updates many users and groups, all or nothing. */
export class BatchService extends ResourceService<'batches'> {
  /** A dry run has no changes. @throws ServiceError with every item that failed at the first step that failed */
  apply(writer: Writer, batch: BatchRequest): Promise<BatchApplied> {
    const { store, writes } = this;
    return writes.run(writer, (context) => store.batches.apply(writer.project, batch, context), {
      malformed: (outcome) => malformed(outcome),
      invalid: ({ errors }) => validationError(errors),
      unknownUsers: ({ references, count }) => unknownReferences(references, count),
    });
  }

  /**
   * Rejects a batch whose query is already invalid. The body is checked too, without applying it, because a step runs over
   * the whole request before the next one.
   */
  async rejectInvalid(project: ProjectKey, body: Uint8Array, errors: ErrorsByStep): Promise<never> {
    const { store, writes } = this;
    const all = new ValidationErrors();
    mergeErrors(all, errors);
    const dryRun = { body, dryRun: true };
    await writes.run({ ...BY_SERVICE, project }, (context) => store.batches.apply(project, dryRun, context), {
      malformed: (outcome) => malformed(outcome),
      invalid: (invalid) => {
        mergeErrors(all, invalid.errors);
        return validationError(all);
      },
      unknownUsers: () => validationError(all),
    });
    throw validationError(all);
  }
}

const malformed = ({ message }: { readonly message: string }) => new ServiceError('invalid_request', message);
