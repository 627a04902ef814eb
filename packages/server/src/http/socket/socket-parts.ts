import type { Services } from '../../services.ts';

/** What a socket needs of the process: its services, and who counts and checks it. */
export interface SocketParts<Socket> {
  readonly services: Services;
  loggedIn(socket: Socket): void;
  /** Called once, for whatever reason. */
  closed(socket: Socket): void;
  /** The user may have lost access. */
  checkAccess(socket: Socket): void;
}
