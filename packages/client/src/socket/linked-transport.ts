import type { StatusOfConnections } from '../connection-status.ts';
import type { TokenSource } from '../http/token-source.ts';

/** What the link needs of the client's transport. */
export interface LinkedTransport {
  readonly base: string;
  readonly closing: AbortSignal;
  readonly status: StatusOfConnections;
  readonly connectionID: string | undefined;
  readonly tokens: TokenSource;
  json<Body>(method: 'GET', path: string, options: { readonly retries: number }): Promise<Body>;
}
