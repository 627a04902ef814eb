import type { Services } from '../../services.ts';

/** What a socket needs of the process: its services, and who counts and checks it. */
export interface SocketParts<Socket> {
  readonly services: Services;
  /** Counts a frame with the requests of the project's clients. @throws RateLimitError where a request is answered 429 */
  countFrame(caller: { readonly projectId: string }): void;
  loggedIn(socket: Socket): void;
  /** Called once, for whatever reason. */
  closed(socket: Socket): void;
  /** The user may have lost access. */
  checkAccess(socket: Socket): void;
}
