/** What frames of several subjects share. */
import { Id, maybe, meaning } from '@rollcall/protocol';
import type { FrameSocket } from '../frame-definition.ts';
import type { Login } from '../socket-login.ts';

export const groupID = meaning(maybe(Id), 'The group. Required where the token names none.');

/** The example of a region, and of a location in it. */
export const REGION = { page: 'q3-report' };
export const LOCATION = { page: 'q3-report', paragraph: '12' };

/** The right of a frame after the login: the socket's token is verified like that of an HTTP request, at most a second old. */
export function verifiedLogin(
  _frame: unknown,
  { services, login, credentials }: FrameSocket,
): Login | Promise<Login> {
  const current = login as Login;
  const verified = services.authenticator.authenticateClient(credentials);
  return verified instanceof Promise ? verified.then(() => current) : current;
}
