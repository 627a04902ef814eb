import type { Logger } from 'pino';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Broker } from '../../broker/broker.ts';
import type { Settings } from '../../config/settings.ts';
import type { ClientCaller } from '../../core/caller.ts';
import type { RecordFollower } from '../../core/changes/record-follower.ts';
import type { ClientSessions } from '../../core/clients/client-session.ts';
import type { Clock } from '../../core/clock.ts';
import type { ClientConversation } from '../../core/conversation/client-conversation.ts';
import type { HeldPresence } from '../../core/holds/held-presence.ts';
import type { ConversationHub } from '../../realtime/conversation/conversation-hub.ts';
import type { PresenceHub } from '../../realtime/feed/presence-hub.ts';
import type { Store } from '../../store/store.ts';

export interface SocketServices {
  readonly authenticator: Authenticator;
  readonly clients: ClientSessions;
  readonly conversation: ClientConversation;
  readonly heldPresence: HeldPresence;
  readonly streams: PresenceHub;
  readonly conversationStreams: ConversationHub;
  readonly store: Store;
  readonly broker: Broker;
  readonly record: RecordFollower;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly log: Logger;
}

/** What a socket needs of the process: its services, and who counts and checks it. */
export interface SocketParts<Socket> {
  readonly services: SocketServices;
  /** Counts a frame with the requests of the project's clients. @throws RateLimitError where a request is answered 429 */
  countFrame(caller: { readonly projectId: string }): void;
  loggedIn(socket: Socket): void;
  /** Called once, for whatever reason. */
  closed(socket: Socket): void;
  /** The user may have lost access. */
  checkAccess(user: Pick<ClientCaller, 'project' | 'userId'>): void;
}
