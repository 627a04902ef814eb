import type { ProjectKey } from '../store/store.ts';

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
