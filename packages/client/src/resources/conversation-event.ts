import type { Message, Thread } from '../protocol.ts';

/** Where the list goes on, behind what the snapshot has. */
interface Rest {
  /** The `token` of the next page; null when nothing follows. */
  readonly pagination: { readonly token: string | null };
}

/** The thread is new or was changed. */
export interface ThreadChanged<T = Thread> {
  readonly type: 'thread';
  readonly thread: T;
}
/** The message or thread was deleted permanently. A thread is also removed when the filter does not match it any more. */
export interface Removed {
  readonly type: 'removed';
  readonly id: string;
}

/**
 * The thread and its newest messages, the oldest of them first; the token goes on to older ones, of a list with
 * `order: 'descending'`. The first event, and sent again when the missed events are no longer stored.
 */
export interface MessagesSnapshot<T = Thread> extends Rest {
  readonly type: 'snapshot';
  readonly thread: T;
  readonly messages: readonly Message[];
}
/** A message is new or was changed; this is all of it. */
export interface MessageChanged {
  readonly type: 'message';
  readonly message: Message;
}
/** The text was appended to a message (`id`), whose text now has `length` code points. */
export interface MessageAppended {
  readonly type: 'appended';
  readonly id: string;
  readonly text: string;
  readonly length: number;
}

/** An event of the messages of a thread. `T` is the thread as the reader sees it. */
export type MessagesEvent<T = Thread> =
  | MessagesSnapshot<T>
  | MessageChanged
  | MessageAppended
  | Removed
  | ThreadChanged<T>;

/** The threads with the latest activity. The first event, and sent again when the missed events are no longer stored. */
export interface ThreadsSnapshot<T = Thread> extends Rest {
  readonly type: 'snapshot';
  readonly threads: readonly T[];
}

/** An event of the threads of a group. */
export type ThreadsEvent<T = Thread> = ThreadsSnapshot<T> | ThreadChanged<T> | Removed;
