import type { UserWrite } from '@rollcall/protocol';
import type { Actor, Origin } from '../store/write-context.ts';
import type { ProjectKey } from '../values/project-key.ts';

/** The caller of a data endpoint: a host, on behalf of one project. */
export interface Caller {
  readonly actor: Actor;
  readonly projectId: string;
  readonly project: ProjectKey;
  /** The access token in use, if it is one: what `DELETE /v1/authorize` revokes. */
  readonly sessionId: string | null;
}

/** A caller in one request, which writes. */
export type WriterOf<C> = C & Origin;

/** The author of a write, its project, and its request. */
export type Writer = WriterOf<Pick<Caller, 'actor' | 'project'>>;

/** The caller of `/v1/projects`: a customer, who owns projects. */
export interface CustomerCaller {
  readonly actor: Actor;
  readonly customerId: string;
}

/** The caller of `/v1/client`: a browser, as one user. Its token was verified; whether the user may act is read each time. */
export interface ClientCaller extends Caller {
  readonly userId: string;
  /** The ID of the only group that the token opens; null where it opens every group of the user. */
  readonly group: string | null;
  readonly details: ClientDetails | null;
}

/** A client in one request: the first one with a token writes the user's details. */
export type ClientWriter = WriterOf<ClientCaller>;

export interface ClientDetails {
  readonly write: UserWrite;
  /** Distinguishes the token from every other. */
  readonly fingerprint: string;
  /** When the token was made, in milliseconds since the epoch; null where the token has no such time. */
  readonly signedAt: number | null;
}
