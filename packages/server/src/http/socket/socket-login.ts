import { type SocketFrame, ValidationErrors } from '@rollcall/protocol';
import type { AuthenticatedClient } from '../../auth/client-claims.ts';
import type { WriterOf } from '../../core/caller.ts';
import type { PresenceConnection } from '../../core/presence-connection.ts';
import { validationError } from '../../core/validation-error.ts';
import type { StreamPermit } from '../../realtime/sessions/stream-permits.ts';
import type { SocketParts } from './socket-parts.ts';

/** Who is logged in on a socket, and until when. A renewed token changes it. */
export interface Login {
  writer: WriterOf<AuthenticatedClient>;
  /** The token as an HTTP request has it. */
  header: string;
  /** When the socket is closed, unless the token is renewed: the token's end. */
  endsAt: number;
  isExpiringSent: boolean;
  /** One of the user's streams. */
  readonly permit: StreamPermit;
  readonly connection: PresenceConnection;
  /** The client has named the connection, so it may come back. */
  readonly isNamed: boolean;
}

/**
 * Logs in, or renews the token of `before`. A login is counted once its token is verified: forged ones use up nothing.
 * @throws ServiceError as `GET /v1/client/viewer` does; 429 where the user has too many streams; `invalid_field` where the
 *   renewed token is of another user, or names another connection
 */
export async function logIn(
  { services, countFrame }: Pick<SocketParts<never>, 'services' | 'countFrame'>,
  { token, connectionID }: SocketFrame<'auth'>,
  requestId: string,
  before: Login | null,
): Promise<Login> {
  const { authenticator, clients, streams, heldPresence } = services;
  const header = `Bearer ${token}`;
  const { caller, ...ends } = await authenticator.verifyClient(header);
  const writer = { ...caller, requestId };
  // Only a token that was accepted by the tolerance for clocks ends with the tolerance.
  const endsAt = services.clock.now() < ends.namedEnd ? ends.namedEnd : ends.endsAt;
  const renewed = { writer, header, endsAt, isExpiringSent: false };
  if (before !== null) {
    requireSame(before, writer, connectionID);
    await clients.user(writer);
    return Object.assign(before, renewed);
  }
  countFrame(caller);
  const permit = streams.permits.take(caller);
  try {
    await clients.user(writer);
    const connection = await heldPresence.open(caller.project, caller.userId, connectionID ?? null);
    return { ...renewed, permit, connection, isNamed: connectionID !== undefined };
  } catch (error) {
    permit.release();
    throw error;
  }
}

function requireSame(
  { writer: before, connection }: Login,
  writer: Login['writer'],
  connectionID: string | undefined,
): void {
  const errors = new ValidationErrors();
  if (before.project !== writer.project || before.userId !== writer.userId)
    errors.invalid.add('token', `a token of the socket's user`);
  if (connectionID !== undefined && connectionID !== connection.name)
    errors.invalid.add('connectionID', 'the one of the first auth, or none');
  if (!errors.clean) throw validationError(errors);
}
