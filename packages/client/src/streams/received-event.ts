import type { PresenceEvent } from '../presence/presence-event.ts';
import type { MessagesEvent, ThreadsEvent } from '../resources/conversation-event.ts';

/** The events that this version knows, of all streams. */
const TYPES: readonly string[] = [
  'snapshot',
  'arrived',
  'departed',
  'durable',
  'data',
  'user',
  'message',
  'appended',
  'removed',
  'thread',
] satisfies (PresenceEvent | MessagesEvent | ThreadsEvent)['type'][];
/** Events whose data is a resource with fields of its own, such as `type`: they have it under the name of the event. */
const RESOURCES: readonly string[] = ['message', 'thread'];

/** An event whose data is parsed. */
export interface ReceivedEvent {
  readonly type: string;
  readonly data: unknown;
  readonly id: string;
}

/** The event as its consumer gets it: its `type` and data; null for a type that this version does not know. */
export function eventOf({ type, data }: ReceivedEvent): object | null {
  if (!TYPES.includes(type)) return null;
  return RESOURCES.includes(type) ? { type, [type]: data } : { ...(data as object), type };
}
