import type { Change } from '../../store/changes/changes.ts';
import type { Precondition } from '../../store/precondition.ts';
import type { ConditionalContext } from '../../store/write-context.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { publish } from '../publish.ts';
import type { ServiceError } from '../service-error.ts';
import { afterCommit, type FollowUpParts } from './after-commit.ts';
import type { ChangeOrdering } from './change-ordering.ts';
import { writeContext } from './write-context.ts';

/** The outcomes of a write that was applied. */
type Applied<Outcome> = Extract<Outcome, { readonly changes: readonly Change[] }>;
type Failed<Outcome> = Exclude<Outcome, Applied<Outcome>> & { readonly kind: string };

/** For each outcome of a write that was not applied, the error that the caller gets. */
type ErrorsOf<Outcome> = {
  readonly [Kind in Failed<Outcome>['kind']]: (
    outcome: Extract<Outcome, { readonly kind: Kind }>,
  ) => ServiceError;
};

interface Parts extends FollowUpParts {
  readonly changeOrdering: Pick<ChangeOrdering, 'written'>;
}

/**
 * Runs every write of the services that is recorded as a change: its context is made and its changes are ordered and followed
 * up here only.
 */
export class StoreWrites {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Writes, and follows up what the write changed. @throws ServiceError of `errors` when the write was not applied */
  async run<Outcome extends { readonly kind: string } | { readonly changes: readonly Change[] }>(
    writer: Writer,
    write: (context: ConditionalContext) => Promise<Outcome>,
    errors: ErrorsOf<Outcome>,
    precondition?: Precondition,
  ): Promise<Applied<Outcome>> {
    const outcome = await write(writeContext(this.#parts.clock, writer, precondition));
    if (isApplied(outcome)) {
      if (outcome.changes.length > 0) this.#parts.changeOrdering.written(writer.project);
      await afterCommit(this.#parts, writer.project, outcome.changes);
      return outcome;
    }
    const { kind } = outcome as Failed<Outcome>;
    const toError = errors[kind as keyof ErrorsOf<Outcome>] as (failed: Outcome) => ServiceError;
    throw toError(outcome);
  }

  /** Publishes that users have seen a thread, which is no recorded change. */
  publishSeen(project: ProjectKey, groupId: string, threadId: string): void {
    void publish(this.#parts.broker, { type: 'conversation', project, groupId, threadId, only: 'threads' });
  }
}

const isApplied = <Outcome extends object>(outcome: Outcome): outcome is Applied<Outcome> =>
  'changes' in outcome;
