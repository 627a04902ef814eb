/** Threads: the conversations of a group. */
import { URL_MAX_LENGTH } from './limits.ts';
import {
  exactly,
  integer,
  list,
  maybe,
  meaning,
  object,
  type Schema,
  type Static,
  text,
  textOrNull,
} from './schema.ts';
import {
  clearableText,
  Done,
  Flag,
  Id,
  Location,
  Metadata,
  Name,
  PastTimestamp,
  Timestamp,
  TokenPagination,
} from './values.ts';

/** The address of what a thread or message is about. */
export const ConversationUrl = clearableText(
  { maxLength: URL_MAX_LENGTH, format: 'http-url' },
  `an absolute http or https URL of at most ${URL_MAX_LENGTH} characters, or null to clear it`,
);

const ClearableLocation = {
  ...Location,
  type: ['object', 'null'],
  description: `${Location.description}, or null to clear it`,
} as Schema<Static<typeof Location> | null>;

export const NullableTimestamp = textOrNull({ format: 'date-time', description: 'ISO 8601, UTC, or null' });

const groupID = meaning(Id, 'The group that owns the thread. It never changes.');
const name = meaning(Name, 'What people call the thread.');

const ofEveryCaller = {
  url: meaning(maybe(ConversationUrl), 'Where the thread is shown. `null` clears it.'),
  location: meaning(maybe(ClearableLocation), 'What the thread is about. `null` clears it.'),
  metadata: meaning(maybe(Metadata), 'Data of the host. A write replaces the whole object.'),
};

const writable = {
  ...ofEveryCaller,
  resolved: meaning(maybe(Flag), 'Whether the conversation is over.'),
  createdTimestamp: meaning(
    maybe(PastTimestamp),
    'When the thread was begun: it makes the creation an import. Later it may only be repeated.',
  ),
  resolvedTimestamp: meaning(
    maybe(PastTimestamp),
    'When a resolved thread was resolved; on creation only. Later it may only be repeated.',
  ),
};

const toCreate = { groupID, name, ...writable };
const clientToCreate = {
  groupID: meaning(maybe(Id), 'The group. Required where the token names none.'),
  name,
  ...ofEveryCaller,
};
const id = meaning(maybe(Id), 'The ID of the thread. Made when it is absent.');

/** Body of `PUT /v1/threads/<ID>`: only supplied fields change; `groupID` and `name` are required to create. */
export const ThreadWrite = exactly(
  {
    groupID: meaning(maybe(Id), 'The group that owns the thread. Required to create; it never changes.'),
    name: meaning(maybe(Name), 'What people call the thread. Required to create.'),
    ...writable,
  },
  { 'x-meaning': 'The fields of a thread to change: a field that is not supplied keeps its value.' },
);
export type ThreadWrite = Static<typeof ThreadWrite>;

/** Body of `POST /v1/threads`, which only creates. */
export const ThreadCreation = exactly({ id, ...toCreate }, { 'x-meaning': 'A thread to create.' });
export type ThreadCreation = Static<typeof ThreadCreation>;

/** Body of `POST /v1/client/threads`. */
export const ClientThreadCreation = exactly(
  { id, ...clientToCreate },
  { 'x-meaning': 'A thread to create.' },
);
export type ClientThreadCreation = Static<typeof ClientThreadCreation>;

const IN_SAME_STEP = {
  'x-meaning': 'The thread, to be made in the same step when it is missing; ignored when it is there.',
  description: 'an object with the fields of a thread to create',
};

/** `createThread` of a new message: the thread to make when it is missing. */
export const CreateThread = exactly(toCreate, IN_SAME_STEP);
export type CreateThread = Static<typeof CreateThread>;

/** The same of a client token. */
export const ClientCreateThread = exactly(clientToCreate, IN_SAME_STEP);
export type ClientCreateThread = Static<typeof ClientCreateThread>;

/** Body of `PUT /v1/client/threads/<ID>`. */
export const ClientThreadWrite = exactly(
  { resolved: meaning(Flag, 'Whether the conversation is over.') },
  { 'x-meaning': 'What a user may change of a thread.' },
);
export type ClientThreadWrite = Static<typeof ClientThreadWrite>;

/** Body of `PUT /v1/client/threads/<ID>/seen`. */
export const ThreadSeen = exactly(
  { messageID: meaning(maybe(Id), 'Seen up to this message. Absent: up to now.') },
  { 'x-meaning': 'How far the user has read.' },
);
export type ThreadSeen = Static<typeof ThreadSeen>;

const count = integer({ minimum: 0 });

export const Participant = object(
  {
    userID: meaning(Id, 'The ID of the user.'),
    lastSeenTimestamp: meaning(Timestamp, 'Up to when the user has seen the thread.'),
  },
  { 'x-meaning': 'A user who has written in the thread or marked it as seen.' },
);

const shown = {
  id: meaning(Id, 'The ID of the thread.'),
  groupID: meaning(Id, 'The group that owns the thread.'),
  name,
  url: meaning(textOrNull(), 'Where the thread is shown. Null when not set.'),
  location: meaning(ClearableLocation, 'What the thread is about. Null when not set.'),
  metadata: meaning(Metadata, 'Data of the host; `{}` when never set.'),
  resolved: meaning(Flag, 'Whether the conversation is over.'),
  resolvedTimestamp: meaning(NullableTimestamp, 'When it was resolved. Null while it is not.'),
  createdTimestamp: meaning(Timestamp, 'When the thread was begun.'),
  total: meaning(count, 'The sum of the three counts that follow.'),
  userMessages: meaning(count, 'Messages of type `user_message` that are not deleted.'),
  actionMessages: meaning(count, 'Messages of type `action_message` that are not deleted.'),
  deletedMessages: meaning(count, 'Messages that are deleted, but can be brought back.'),
  lastMessageTimestamp: meaning(NullableTimestamp, 'The latest `createdTimestamp` of its messages.'),
  participants: meaning(list(Participant), 'The 100 who have seen it most recently.'),
};

export const Thread = object(shown, { 'x-meaning': 'A thread.' });
export type Thread = Static<typeof Thread>;

/** A thread as a client token reads it. */
export const ClientThread = object(
  {
    ...shown,
    unread: meaning(count, 'Messages of others, not deleted, after what the user has seen; at most 10,000.'),
  },
  { 'x-meaning': 'A thread, with how much of it the user has not seen.' },
);
export type ClientThread = Static<typeof ClientThread>;

const inOrder = 'The latest activity first.';
export const ThreadList = object(
  { threads: meaning(list(Thread), inOrder), pagination: meaning(TokenPagination, 'The next page.') },
  { 'x-meaning': 'A page of threads.' },
);
export type ThreadList = Static<typeof ThreadList>;
export const ClientThreadList = object(
  { threads: meaning(list(ClientThread), inOrder), pagination: meaning(TokenPagination, 'The next page.') },
  { 'x-meaning': 'A page of threads, with how much of each the user has not seen.' },
);

/** The response of a write that creates under an ID that may be made by the service. */
export const Created = object(
  { ...Done.properties, id: meaning(text(), 'The ID of what was created.') },
  { 'x-meaning': 'The answer to a creation.' },
);
