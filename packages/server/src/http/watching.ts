/** Who reads a stream: a host, or the user of a client token. */
import type { AuthenticatedClient } from '../auth/client-claims.ts';
import type { WatchRequest } from '../realtime/sessions/stream-request.ts';
import type { Exchange } from './exchange.ts';
import type { HttpServices } from './http-services.ts';
import type { Reply } from './reply.ts';

/** The reader of a stream, and the right to read it. */
export type WatchAccess = Pick<WatchRequest, 'viewer' | 'credentials' | 'checkCredentials'>;

/** A host, whose token opens every group of the project. */
export const watchingHost = ({ headers }: Exchange, { authenticator }: HttpServices): WatchAccess => {
  const { authorization } = headers;
  return { credentials: authorization, checkCredentials: () => authenticator.verify(authorization) };
};

/** Opens a stream for the user of a client token, who has at most `USER_STREAMS_MAX` of them. */
export async function asViewer(
  { caller, headers }: Exchange<AuthenticatedClient>,
  { authenticator, streams }: HttpServices,
  open: (watching: WatchAccess) => Promise<Reply>,
): Promise<Reply> {
  const permit = streams.permits.take(caller);
  const { authorization } = headers;
  try {
    return await open({
      viewer: { userId: caller.userId, permit },
      credentials: authorization,
      checkCredentials: () => authenticator.verifyClient(authorization),
    });
  } catch (error) {
    permit.release();
    throw error;
  }
}
