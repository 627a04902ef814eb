import type { UserWrite } from '@rollcall/protocol';
import type { ProjectKey } from '../store/store.ts';
import type { GroupNoun } from './refusals.ts';

/** Who calls a data endpoint: a host, on behalf of one project. */
export interface Caller {
  readonly projectId: string;
  readonly project: ProjectKey;
  /** The access token in use, if it is one: what `DELETE /v1/authorize` revokes. */
  readonly sessionId: string | null;
}

/** Who calls `/v1/projects`: a customer, who owns projects. */
export interface CustomerCaller {
  readonly customerId: string;
}

/** Who calls `/v1/client`: a browser, as one user. Its token was verified; whether the user may act is asked each time. */
export interface ClientCaller extends Caller {
  readonly userId: string;
  /** The only group that the token opens; null where it opens every group of the user. */
  readonly group: GroupName | null;
  readonly details: ClientDetails | null;
}

/** A group, with the caller's word for it. */
export interface GroupName {
  readonly noun: GroupNoun;
  readonly id: string;
}

/** What a client token says of its user. */
export interface ClientDetails {
  readonly write: UserWrite;
  /** Tells the token from every other. */
  readonly fingerprint: string;
  /** When the token was made, in milliseconds since the epoch; null where it does not say. */
  readonly signedAt: number | null;
}
