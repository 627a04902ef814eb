import { ValidationErrors } from '@rollcall/protocol';
import type { AuthenticatedClient } from '../../auth/client-claims.ts';
import type { WriterOf } from '../../core/caller.ts';
import type { PresenceConnection } from '../../core/holds/presence-connection.ts';
import { validationError } from '../../core/validation-error.ts';
import type { StreamPermit } from '../../realtime/sessions/stream-permits.ts';
import type { SocketParts, SocketServices } from './socket-parts.ts';

/** The verified token of a socket: its user, and the time until which it is valid. */
export interface VerifiedLogin {
  writer: WriterOf<AuthenticatedClient>;
  /** The token as an HTTP request has it. */
  header: string;
  /** When the socket is closed, unless the token is renewed: the token's end. */
  endsAt: number;
  isExpiringSent: boolean;
}

/** Who is logged in on a socket. A renewed token changes it. */
export interface Login extends VerifiedLogin {
  /** One of the user's streams. */
  readonly permit: StreamPermit;
  readonly connection: PresenceConnection;
  /** The client has named the connection, so it may come back. */
  readonly isNamed: boolean;
}

/** How long a connection that broke may be away and keep what it holds, in milliseconds. One that timed out has been away for longer. */
export const GRACE_MS = 2_000;

/** How long what a login held stays after its socket has ended; null is as long as a page that has named itself may need to come back. */
export const graceOf = ({ isNamed }: Login, graceMs: number | null): number =>
  graceMs ?? (isNamed ? GRACE_MS : 0);

/** Verifies a token. @throws ServiceError (a rejection) as for an HTTP request with it */
export async function verifyLogin(
  { authenticator, clock }: Pick<SocketServices, 'authenticator' | 'clock'>,
  token: string,
  requestId: string,
): Promise<VerifiedLogin> {
  const header = `Bearer ${token}`;
  const { caller, ...ends } = await authenticator.verifyClient(header);
  // Only a token that was accepted by the tolerance for clocks ends with the tolerance.
  const endsAt = clock.now() < ends.namedEnd ? ends.namedEnd : ends.endsAt;
  return { writer: { ...caller, requestId }, header, endsAt, isExpiringSent: false };
}

/**
 * Logs in, or renews the token of `before`. A login is counted once its token is verified: forged ones use up nothing.
 * @throws ServiceError as `GET /v1/client/viewer` does; 429 where the user has too many streams; `invalid_field` where the
 *   renewed token is of another user, or names another connection
 */
export async function logIn(
  { services, countFrame }: Pick<SocketParts<never>, 'services' | 'countFrame'>,
  connectionID: string | undefined,
  verified: VerifiedLogin,
  before: Login | null,
): Promise<Login> {
  const { clients, streams, heldPresence } = services;
  const { writer } = verified;
  if (before !== null) {
    requireSame(before, writer, connectionID);
    await clients.user(writer);
    return Object.assign(before, verified);
  }
  countFrame(writer);
  const permit = streams.permits.take(writer);
  try {
    await clients.user(writer);
    const connection = await heldPresence.open(writer.project, writer.userId, connectionID ?? null);
    if (connectionID !== undefined) await takeOver(heldPresence, connection, writer);
    return { ...verified, permit, connection, isNamed: connectionID !== undefined };
  } catch (error) {
    permit.release();
    throw error;
  }
}

/** Where it fails, the login does: no socket would close the connection, and what it holds would be renewed for ever. */
async function takeOver(
  heldPresence: SocketServices['heldPresence'],
  connection: PresenceConnection,
  writer: Login['writer'],
): Promise<void> {
  try {
    await heldPresence.takeOver(connection, writer);
  } catch (error) {
    connection.close(GRACE_MS).catch(() => {});
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

/** How long before the token's end the client is notified, in milliseconds. */
const EXPIRING_MS = 60_000;

/** The seconds until the token's end where the client is to be notified of them, once; 0 when it has ended, null otherwise. */
export function secondsToNotify(login: Login, now: number): number | null {
  const left = login.endsAt - now;
  if (left <= 0) return 0;
  if (left > EXPIRING_MS || login.isExpiringSent) return null;
  login.isExpiringSent = true;
  return Math.ceil(left / 1_000);
}
