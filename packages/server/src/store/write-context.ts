import type { Precondition, Revision } from './precondition.ts';

export type ActorKind =
  | 'project_token'
  | 'app_token'
  | 'access_token'
  | 'customer_token'
  | 'client_token'
  | 'command_line'
  | 'service';

/** The author of a write: the kind of token, and the ID that it names; null for the command line and the service itself. */
export interface Actor {
  readonly kind: ActorKind;
  readonly id: string | null;
}

export interface Origin {
  readonly actor: Actor;
  /** The ID of the request that made the write; null outside of a request. */
  readonly requestId: string | null;
}

export interface WriteContext extends Origin {
  readonly now: number;
  readonly revision: Revision;
}

/**
 * The context of a write of one resource. Errors come in this order: no name for a new group, unknown users, then the
 * precondition. Where `ifMatch` is given the write is no creation, so its absence is `stale` rather than a missing name.
 */
export interface ConditionalContext extends Precondition, WriteContext {}
