/** Messages: what users say in a thread. */
import { Content, ShownContent, TEXT_EXPECTED } from './content.ts';
import {
  exactly,
  integer,
  list,
  maybe,
  meaning,
  object,
  oneOf,
  type Static,
  text,
  textOrNull,
} from './schema.ts';
import { ClientCreateThread, ConversationUrl, CreateThread, NullableTimestamp } from './thread.ts';
import { Done, Flag, Id, Metadata, Pagination, PastTimestamp, Timestamp } from './values.ts';

export const MessageType = oneOf(['user_message', 'action_message'], {
  'x-meaning':
    'Whether a user says something (`user_message`) or something that happened is shown (`action_message`).',
  description: '"user_message" or "action_message"',
});
export type MessageType = Static<typeof MessageType>;

const meanings = {
  author: 'The user who wrote the message. It never changes.',
  content: 'What the message says, as a tree of nodes.',
  url: 'What the message refers to. `null` clears it.',
  metadata: 'Data of the host. A write replaces the whole object.',
};

const ofEveryCaller = {
  url: meaning(maybe(ConversationUrl), meanings.url),
  metadata: meaning(maybe(Metadata), meanings.metadata),
};

const imported = {
  createdTimestamp: meaning(
    maybe(PastTimestamp),
    'When the message was written: it makes the creation an import. Later it may only be repeated.',
  ),
  updatedTimestamp: meaning(
    maybe(PastTimestamp),
    'When the message was last changed; on creation only. Later it may only be repeated.',
  ),
  deletedTimestamp: meaning(
    maybe(PastTimestamp),
    'When the message was deleted; on creation only. Later it may only be repeated.',
  ),
};

const id = meaning(maybe(Id), 'The ID of the message, unique in its thread. Made when it is absent.');

/** Body of `PUT /v1/threads/<ID>/messages/<MID>`: only supplied fields change; `authorID` and `content` are required to create. */
export const MessageWrite = exactly(
  {
    authorID: meaning(maybe(Id), `${meanings.author} Required to create.`),
    content: meaning(maybe(Content), `${meanings.content} Required to create.`),
    type: maybe(MessageType),
    ...ofEveryCaller,
    deleted: meaning(maybe(Flag), 'True hides what the message says; false brings it back.'),
    ...imported,
  },
  { 'x-meaning': 'The fields of a message to change: a field that is not supplied keeps its value.' },
);
export type MessageWrite = Static<typeof MessageWrite>;

/** Body of `POST /v1/threads/<ID>/messages`, which only creates. */
export const MessageCreation = exactly(
  {
    id,
    authorID: meaning(Id, meanings.author),
    content: meaning(Content, meanings.content),
    type: maybe(MessageType),
    ...ofEveryCaller,
    ...imported,
    createThread: maybe(CreateThread),
  },
  { 'x-meaning': 'A message to create.' },
);
export type MessageCreation = Static<typeof MessageCreation>;

/** Body of `POST /v1/client/threads/<ID>/messages`: the author is the token's user. */
export const ClientMessageCreation = exactly(
  {
    id,
    content: meaning(Content, meanings.content),
    ...ofEveryCaller,
    createThread: maybe(ClientCreateThread),
  },
  { 'x-meaning': 'A message to create.' },
);
export type ClientMessageCreation = Static<typeof ClientMessageCreation>;

/** Body of `PUT /v1/client/threads/<ID>/messages/<MID>`: one's own messages. */
export const ClientMessageWrite = exactly(
  {
    content: meaning(maybe(Content), meanings.content),
    deleted: meaning(maybe(Flag), 'True hides what the message says; false brings it back.'),
  },
  { 'x-meaning': 'What a user may change of their own messages.' },
);
export type ClientMessageWrite = Static<typeof ClientMessageWrite>;

/** Body of `POST …/append`. */
export const MessageAppend = exactly(
  {
    text: meaning(text({ 'x-text': true, description: TEXT_EXPECTED }), 'The text to add at the end.'),
    offset: meaning(
      maybe(integer({ minimum: 0, description: 'a whole number, 0 or more' })),
      'How many code points the text has so far. Where it has not, nothing is added: so a repeated append is not applied twice.',
    ),
  },
  { 'x-meaning': 'A text to add to a message that is one markdown node.' },
);
export type MessageAppend = Static<typeof MessageAppend>;

export const Appended = object(
  { ...Done.properties, length: meaning(integer({ minimum: 0 }), 'How many code points the text has now.') },
  { 'x-meaning': 'The answer to an append.' },
);

export const Message = object(
  {
    id: meaning(Id, 'The ID of the message, unique in its thread.'),
    threadID: meaning(Id, 'The thread that owns the message.'),
    groupID: meaning(Id, 'The group that owns the thread.'),
    authorID: meaning(Id, 'The user who wrote the message; also where the user is gone.'),
    type: MessageType,
    content: meaning(ShownContent, 'What the message says; empty while it is deleted.'),
    plaintext: meaning(text(), 'The texts of the content, with a line feed between block nodes.'),
    url: meaning(textOrNull(), 'What the message refers to. Null when not set.'),
    metadata: meaning(Metadata, 'Data of the host; `{}` when never set, and while the message is deleted.'),
    createdTimestamp: meaning(Timestamp, 'When the message was written.'),
    updatedTimestamp: meaning(
      NullableTimestamp,
      'When it was last changed, other than by an append. Null when never.',
    ),
    deletedTimestamp: meaning(NullableTimestamp, 'When it was deleted. Null while it is not.'),
  },
  { 'x-meaning': 'A message.' },
);
export type Message = Static<typeof Message>;

export const MessageList = object(
  {
    messages: meaning(list(Message), 'By `createdTimestamp`, then in the order of arrival.'),
    pagination: meaning(Pagination, 'The next page.'),
  },
  { 'x-meaning': 'A page of messages.' },
);
export type MessageList = Static<typeof MessageList>;
