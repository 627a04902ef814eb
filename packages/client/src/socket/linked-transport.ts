import type { StatusOfConnections } from '../connection-status.ts';

/** What the link needs of the client's transport. */
export interface LinkedTransport {
  readonly base: string;
  readonly closing: AbortSignal;
  readonly status: StatusOfConnections;
  readonly connectionID: string | undefined;
  token(): Promise<string>;
  renewToken(): Promise<string | null>;
  rejectToken(): boolean;
  json<Body>(method: 'GET', path: string, options: { readonly retries: number }): Promise<Body>;
}
