/** The messages between the main thread and a thread for large writes: one write at a time, and its outcome. */

import type { BatchStore } from '../ports/batches.ts';
import type { GroupStore } from '../ports/groups.ts';
import type { MemberStore } from '../ports/members.ts';
import type { UserStore } from '../ports/users.ts';
import type { ThreadFailure } from '../worker-threads/thread-failure.ts';

export interface WriteThreadOptions {
  /** Of the database. */
  readonly url: string;
}

/** The methods of the ports that a thread can run. */
export interface LargeWriteMethods {
  readonly applyBatch: BatchStore['apply'];
  readonly putGroup: GroupStore['put'];
  readonly deleteGroup: GroupStore['delete'];
  readonly changeMembers: MemberStore['change'];
  readonly deleteUser: UserStore['delete'];
}

export type LargeWriteName = keyof LargeWriteMethods;

export interface LargeWrite {
  readonly name: LargeWriteName;
  /** Their bytes are moved to the thread. */
  readonly parameters: readonly unknown[];
}

/** `isAway`: the server gave no answer at all. */
export type FromWriteThread =
  | { readonly outcome: unknown }
  | { readonly failure: ThreadFailure; readonly isAway: boolean };
