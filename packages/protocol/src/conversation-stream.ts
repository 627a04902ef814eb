/** The events of the streams of threads and messages: the `data` of each event. */
import { Message } from './message.ts';
import { integer, list, meaning, type ObjectSchema, object, text } from './schema.ts';
import { ClientThread, ClientThreadList, Thread, ThreadList } from './thread.ts';
import { Id, TokenPagination } from './values.ts';

const messagesSnapshot = <T extends ObjectSchema>(thread: T) =>
  object(
    {
      thread: meaning(thread, 'The thread.'),
      messages: meaning(list(Message), 'The newest messages, the oldest of them first.'),
      pagination: meaning(
        TokenPagination,
        'The older ones: pass its token as `token`, with `order=descending`.',
      ),
    },
    { 'x-meaning': 'A thread and its newest messages. It replaces what earlier events said.' },
  );

const AppendedEvent = object(
  {
    id: meaning(Id, 'The ID of the message.'),
    text: meaning(text(), 'The text to add at the end of its markdown node.'),
    length: meaning(integer({ minimum: 0 }), 'How many code points the text has now.'),
  },
  { 'x-meaning': 'A text was appended to a message.' },
);

const RemovedEvent = object(
  { id: meaning(Id, 'The ID of the thread or message.') },
  { 'x-meaning': 'A thread or message is gone, or a thread is not within the filter any more.' },
);

const messageEvents = <T extends ObjectSchema>(thread: T) => ({
  snapshot: messagesSnapshot(thread),
  message: Message,
  appended: AppendedEvent,
  removed: RemovedEvent,
  thread,
});

/** The `data` of each event of a stream of messages, by its name. */
export const MESSAGE_EVENTS = messageEvents(Thread);
/** The same as a client token reads it. */
export const CLIENT_MESSAGE_EVENTS = messageEvents(ClientThread);

/** The `data` of each event of a stream of threads, by its name. A snapshot is the first page of the list. */
export const THREAD_EVENTS = { snapshot: ThreadList, thread: Thread, removed: RemovedEvent };
/** The same as a client token reads it. */
export const CLIENT_THREAD_EVENTS = {
  snapshot: ClientThreadList,
  thread: ClientThread,
  removed: RemovedEvent,
};
