import type { EventSession } from './event-session.ts';

/** What one conversation stream follows: the messages of a thread, or the threads of a group. */
export interface ConversationFeed {
  readonly groupId: string;
  readonly sessions: ReadonlySet<EventSession>;
  /** Something changed, or may have: reads it soon. `threadId` names what. */
  changed(threadId: string): void;
  /** Reads again what a lost notification would have named. */
  revalidate(now: number): void;
  heartbeat(): void;
  /** Since when nobody follows it, in milliseconds since the epoch; null while somebody does. */
  idleSince: number | null;
}
