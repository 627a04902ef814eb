/** The watches of each kind of stream. */
import type { PresenceEvent } from '../presence/presence-event.ts';
import type { Thread } from '../protocol.ts';
import type { MessagesEvent, ThreadsEvent } from '../resources/conversation-event.ts';
import type { Watch } from './watch.ts';

/** The presence events of a group. */
export type PresenceWatch = Watch<PresenceEvent>;
/** The events of the messages of a thread. */
export type MessagesWatch<T = Thread> = Watch<MessagesEvent<T>>;
/** The events of the threads of a group. */
export type ThreadsWatch<T = Thread> = Watch<ThreadsEvent<T>>;
