import type { PresenceEvent } from '../presence/presence-event.ts';
import type { MessagesEvent, ThreadsEvent } from '../resources/conversation-event.ts';
import { errorIn } from '../rollcall-error.ts';

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

/**
 * The event as its consumer gets it: its `type` and data; null for a type that this version does not know.
 * @throws RollcallError the error with which the server ends the stream
 */
export function eventOf({ type, data }: Pick<ReceivedEvent, 'type' | 'data'>): object | null {
  if (type === 'error') throw errorIn(JSON.stringify(data), 'error', 'the stream ended');
  if (!TYPES.includes(type)) return null;
  return RESOURCES.includes(type) ? { type, [type]: data } : { ...(data as object), type };
}
