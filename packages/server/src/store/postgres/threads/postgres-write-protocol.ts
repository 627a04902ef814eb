/** The messages between the main thread and a thread for large writes: one task at a time, and its outcome. */
import type {
  BatchOutcome,
  BatchRequest,
  ChangeMembersOutcome,
  MembershipChange,
  ProjectKey,
  PutGroupOutcome,
  WriteContext,
  WriteStamp,
} from '../../store.ts';
import type { StoredGroupWrite } from '../../stored-write.ts';
import type { ThreadFailure } from '../../thread-failure.ts';

export interface WriteThreadOptions {
  /** Of the database. */
  readonly url: string;
}

interface BatchTask {
  readonly type: 'applyBatch';
  readonly project: ProjectKey;
  readonly batch: BatchRequest;
  readonly stamp: WriteStamp;
}

interface GroupTask {
  readonly type: 'putGroup';
  readonly project: ProjectKey;
  readonly id: string;
  readonly write: StoredGroupWrite;
  readonly context: WriteContext;
}

interface MembersTask {
  readonly type: 'changeMembers';
  readonly project: ProjectKey;
  readonly id: string;
  readonly change: MembershipChange;
  readonly context: WriteContext;
}

/** A large write; its bytes are moved to the thread. */
export type WriteTask = BatchTask | GroupTask | MembersTask;

/** The outcome of each kind of task. */
export interface TaskOutcomes {
  readonly applyBatch: BatchOutcome;
  readonly putGroup: PutGroupOutcome;
  readonly changeMembers: ChangeMembersOutcome;
}

export type OutcomeOf<Task extends WriteTask> = TaskOutcomes[Task['type']];

export type ToWriteThread = { readonly type: 'apply'; readonly task: WriteTask } | { readonly type: 'close' };

export type FromWriteThread =
  | { readonly type: 'done'; readonly outcome: OutcomeOf<WriteTask> }
  | {
      readonly type: 'failed';
      readonly failure: ThreadFailure;
      /** Whether the server gave no answer at all. */
      readonly isAway: boolean;
    };
