/** What the main thread and a batch's thread say to each other: one task at a time, and what came of it. */
import type { BatchOutcome, BatchRequest, ProjectKey, WriteStamp } from '../../store.ts';
import type { ThreadFailure } from '../../thread-failure.ts';

export interface BatchThreadOptions {
  /** Of the database. */
  readonly url: string;
}

export interface BatchTask {
  readonly project: ProjectKey;
  readonly batch: BatchRequest;
  readonly stamp: WriteStamp;
}

export type ToBatchThread = { readonly type: 'apply'; readonly task: BatchTask } | { readonly type: 'close' };

export type FromBatchThread =
  | { readonly type: 'done'; readonly outcome: BatchOutcome }
  | {
      readonly type: 'failed';
      readonly failure: ThreadFailure;
      /** Whether the server said nothing at all. */
      readonly isAway: boolean;
    };
