/** The messages between the main thread and the writer's thread. */
import type { DurableBounds } from '../../durable-bounds.ts';
import type { ThreadFailure } from '../../worker-threads/thread-failure.ts';
import type { FileIdentities } from '../files/sqlite-files.ts';
import type { WritePort } from '../sqlite-ports.ts';

export interface WriterOptions {
  readonly file: string;
  /** Size of the log at which it is copied into the file and begins anew, in bytes. */
  readonly checkpointBytes: number;
  readonly durableBounds: DurableBounds;
}

/** A write: its number, its port and method, and the method's parameters. */
export type WriteRequest = readonly [
  number: number,
  port: WritePort,
  method: string,
  parameters: readonly unknown[],
];

/** How a write ended: its number and its outcome, or why it failed. */
export type WriteReply =
  | readonly [number: number, failure: null, answer: unknown]
  | readonly [number: number, failure: ThreadFailure];

export type ToWriter =
  | { readonly type: 'write'; readonly requests: readonly WriteRequest[] }
  /** What the checkpointer could copy is copied; `before` are the bytes that were left to copy. */
  | { readonly type: 'copied'; readonly before: number }
  /** The main thread holds no snapshot; `longReads` of others still do. */
  | { readonly type: 'released'; readonly longReads: number }
  | { readonly type: 'close' };

export type FromWriter =
  /** The store is open; these are its files. */
  | { readonly type: 'ready'; readonly files: FileIdentities }
  | { readonly type: 'startFailed'; readonly kind: 'schemaTooNew' | 'unavailable'; readonly message: string }
  /** What shared a commit, and how long that took. */
  | { readonly type: 'done'; readonly replies: readonly WriteReply[]; readonly durationMs: number }
  /** The writer accepts no more writes. */
  | { readonly type: 'lost'; readonly reason: string }
  /** The log is long: `left` bytes of it are to be copied into the file while writes go on. */
  | { readonly type: 'copy'; readonly left: number }
  /** The log is copied but for a rest: let go of snapshots, so that it can begin anew. */
  | { readonly type: 'release' }
  | { readonly type: 'resume' };
