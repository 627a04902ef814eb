/** Rules of threads and messages that every driver applies: what a write makes of what is stored. */

import type { Status } from '@rollcall/protocol';
import type { Change } from '../changes/changes.ts';
import type { Absent, IdSample, Written } from '../outcomes.ts';
import {
  type AuthorUnavailable,
  MARKDOWN_END,
  type MessageRecord,
  type PutMessageOutcome,
  type StoredContent,
  type StoredMessageWrite,
  type ThreadAbsent,
} from '../ports/messages.ts';
import type {
  FieldsRequired,
  FixedFields,
  FutureTimes,
  GroupUnavailable,
  PutThreadOutcome,
  StoredThreadWrite,
  ThreadRecord,
} from '../ports/threads.ts';
import { type Precondition, preconditionFailure } from '../precondition.ts';
import type { ConditionalContext } from '../write-context.ts';

/** Names the fields of the API whose supplied value is another than the stored one. */
const fixedFields = (
  values: Readonly<Record<string, readonly [supplied: unknown, stored: unknown]>>,
): FixedFields | null => {
  const changed = Object.entries(values).filter(
    ([, [supplied, stored]]) => supplied !== undefined && supplied !== stored,
  );
  return changed.length === 0 ? null : { kind: 'fixedFields', fields: changed.map(([field]) => field) };
};

const fieldsRequired = (fields: Readonly<Record<string, unknown>>): FieldsRequired | null => {
  const missing = Object.keys(fields).filter((field) => fields[field] === undefined);
  return missing.length === 0 ? null : { kind: 'fieldsRequired', fields: missing };
};

/** A write with the time that makes a creation an import; an update repeats it. */
type MaybeImport = { readonly createdAt?: number };

/** Why nothing is written in a group; its status is null where there is none. Deleted groups take imports. */
export function groupError(
  groupId: string,
  status: Status | null,
  { createdAt }: MaybeImport,
): GroupUnavailable | null {
  if (status === 'active' || (status === 'deleted' && createdAt !== undefined)) return null;
  return { kind: 'groupUnavailable', groupId, isDeleted: status === 'deleted' };
}

/** Why a user, whose status is null where there is none, cannot be the author of a new message. */
function authorError(
  groupId: string,
  status: Status | null,
  isMember: boolean,
  { createdAt }: MaybeImport,
): AuthorUnavailable | null {
  const error = (reason: AuthorUnavailable['reason']) =>
    ({ kind: 'authorUnavailable', reason, groupId }) as const;
  if (status === null) return error('absent');
  if (createdAt !== undefined) return null;
  if (status === 'deleted') return error('deleted');
  return isMember ? null : error('notMember');
}

/**
 * Whether the write can only create. Where its thread or message is there, it is checked like the creation that it is, before
 * it fails its precondition: the caller gets the same error in both cases, and stored values do not matter.
 */
const onlyCreates = ({ ifNoneMatch }: Precondition) => ifNoneMatch === '*';

export type ThreadFields = Pick<ThreadRecord, 'name' | 'url' | 'location' | 'metadata' | 'resolvedAt'>;

/** Whether the write requires a thread of another group, or one where there is none. */
export const isThreadAbsent = (
  thread: Pick<ThreadRecord, 'groupId'> | null,
  { inGroup }: Pick<StoredThreadWrite, 'inGroup'>,
) => inGroup !== undefined && thread?.groupId !== inGroup;

/** What a write is checked with. */
type CheckContext = Precondition & Pick<ConditionalContext, 'now'>;

/** The times that a write can supply. */
type Times = Readonly<Partial<Record<'createdAt' | 'updatedAt' | 'deletedAt' | 'resolvedAt', number>>>;

/** Why a write cannot create. Where it requires what it writes to be there, it does not create. */
function creationError(
  required: FieldsRequired | null,
  { createdAt, updatedAt, deletedAt, resolvedAt }: Times,
  { ifMatch, now }: CheckContext,
): FieldsRequired | FutureTimes | null {
  if (ifMatch !== undefined) return null;
  if (required !== null) return required;
  const times = Object.entries({
    createdTimestamp: createdAt,
    updatedTimestamp: updatedAt,
    deletedTimestamp: deletedAt,
    resolvedTimestamp: resolvedAt,
  });
  const fields = times.filter(([, time = now]) => time > now).map(([field]) => field);
  return fields.length === 0 ? null : { kind: 'futureTimes', fields };
}

const requiredOfThread = ({ groupId, name }: StoredThreadWrite) => fieldsRequired({ groupID: groupId, name });

export function fixedOfThread(
  stored: Pick<ThreadRecord, 'groupId' | 'createdAt' | 'resolvedAt'>,
  write: StoredThreadWrite,
  precondition: Precondition,
): FixedFields | null {
  if (onlyCreates(precondition)) return null;
  return fixedFields({
    groupID: [write.groupId, stored.groupId],
    createdTimestamp: [write.createdAt, stored.createdAt],
    resolvedTimestamp: [write.resolvedAt, stored.resolvedAt],
  });
}

/** Why the write of a thread (null: there is none) is rejected, in the order of the port. A thread that is to be made has a group then. */
export function threadError(
  thread: Pick<ThreadRecord, 'groupId' | 'createdAt' | 'resolvedAt' | 'revision'> | null,
  groupStatus: (groupId: string) => Status | null,
  write: StoredThreadWrite,
  context: CheckContext,
): Exclude<PutThreadOutcome, Written> | null {
  if (isThreadAbsent(thread, write)) return { kind: 'absent' };
  const error =
    thread === null
      ? creationError(requiredOfThread(write), write, context)
      : fixedOfThread(thread, write, context);
  if (error !== null) return error;
  const groupId = write.groupId ?? thread?.groupId;
  // Without a group the thread is required to be there, and is not.
  if (groupId === undefined) return { kind: 'stale' };
  const unavailable = groupError(groupId, groupStatus(groupId), write);
  return unavailable ?? preconditionFailure(context, thread?.revision ?? null);
}

/** The time of a change: not before the creation, which is later than the clock where another process' clock is ahead. */
export const changeTime = ({ createdAt }: { readonly createdAt: number }, now: number): number =>
  Math.max(now, createdAt);

const EMPTY_THREAD: ThreadFields = { name: '', url: null, location: null, metadata: '{}', resolvedAt: null };

/** A new thread; its write has a name. */
export const newThread = (write: StoredThreadWrite, now: number): ThreadFields =>
  changedThread(EMPTY_THREAD, write, now);

/** A time that the write supplies is that of the thread, or the thread is new. */
export function changedThread(stored: ThreadFields, write: StoredThreadWrite, now: number): ThreadFields {
  const resolvedAt = stored.resolvedAt ?? write.resolvedAt ?? null;
  const { resolved = resolvedAt !== null } = write;
  return {
    name: write.name ?? stored.name,
    url: write.url === undefined ? stored.url : write.url,
    location: write.location === undefined ? stored.location : write.location,
    metadata: write.metadata ?? stored.metadata,
    resolvedAt: resolved ? (resolvedAt ?? now) : null,
  };
}

const THREAD_FIELDS: Readonly<Record<keyof ThreadFields, string>> = {
  name: 'name',
  url: 'url',
  location: 'location',
  metadata: 'metadata',
  resolvedAt: 'resolved',
};

const changedFields = <Fields extends object>(
  names: Readonly<Record<keyof Fields, string>>,
  before: Fields,
  after: Fields,
): string[] =>
  (Object.keys(names) as (keyof Fields)[])
    .filter((field) => before[field] !== after[field])
    .map((field) => names[field]);

/** The change of an update, or none where nothing changes. */
export function threadChanges(
  of: { readonly group: string; readonly thread: string },
  before: ThreadFields,
  after: ThreadFields,
): Change[] {
  const fields = changedFields(THREAD_FIELDS, before, after);
  return fields.length === 0 ? [] : [{ type: 'thread.updated', ...of, fields }];
}

type MessageFields = Pick<MessageRecord, 'type' | 'content' | 'url' | 'metadata' | 'deletedAt'>;

const requiredOfMessage = ({ authorId, content }: StoredMessageWrite) =>
  fieldsRequired({ authorID: authorId, content });

/** The absent part for a write of a message in one group, or by one author. */
function absentForMessage(
  thread: Pick<ThreadRecord, 'groupId'> | null,
  message: Pick<MessageRecord, 'authorId'> | null,
  { inGroup, ofAuthor }: StoredMessageWrite,
): ThreadAbsent | Absent | null {
  const isElsewhere = thread !== null && inGroup !== undefined && thread.groupId !== inGroup;
  if (isElsewhere) return { kind: 'threadAbsent' };
  if (ofAuthor === undefined || message?.authorId === ofAuthor) return null;
  return { kind: thread === null ? 'threadAbsent' : 'absent' };
}

function fixedOfMessage(
  stored: Pick<MessageRecord, 'authorId' | 'createdAt' | 'updatedAt' | 'deletedAt'>,
  write: StoredMessageWrite,
  precondition: Precondition,
): FixedFields | null {
  if (onlyCreates(precondition)) return null;
  return fixedFields({
    authorID: [write.authorId, stored.authorId],
    createdTimestamp: [write.createdAt, stored.createdAt],
    updatedTimestamp: [write.updatedAt, stored.updatedAt],
    deletedTimestamp: [write.deletedAt, stored.deletedAt],
  });
}

const EMPTY_MESSAGE: MessageFields = {
  ...{ type: 'user_message', content: '', url: null, metadata: '{}', deletedAt: null },
};

/** What a write of a message finds. What decides nothing is not read. */
interface FoundForMessage {
  readonly thread: Pick<ThreadRecord, 'groupId'> | null;
  readonly message: Pick<
    MessageRecord,
    'authorId' | 'createdAt' | 'updatedAt' | 'deletedAt' | 'revision'
  > | null;
  groupStatus(groupId: string): Status | null;
  author(groupId: string, id: string): { readonly status: Status | null; readonly isMember: boolean };
  unknownUsers(): IdSample;
}

/** Why the write of a message, and of the thread that it may create, is rejected, in the order of the port. */
export function messageError(
  { thread, message, ...found }: FoundForMessage,
  write: StoredMessageWrite,
  context: CheckContext,
): Exclude<PutMessageOutcome, Written> | null {
  const absent = absentForMessage(thread, message, write);
  if (absent !== null) return absent;
  const error =
    message === null
      ? creationError(requiredOfMessage(write), write, context)
      : fixedOfMessage(message, write, context);
  if (error !== null) return error;
  const { createThread, authorId } = write;
  if (thread === null && createThread === undefined) return { kind: 'threadAbsent' };
  const made = createThread ?? {};
  const rejected = thread === null ? creationError(requiredOfThread(made), made, { now: context.now }) : null;
  if (rejected !== null) return rejected;
  const groupId = (thread ?? createThread)?.groupId as string;
  const status = found.groupStatus(groupId);
  const unavailable =
    (thread === null ? groupError(groupId, status, made) : null) ?? groupError(groupId, status, write);
  if (unavailable !== null) return unavailable;
  if (authorId !== undefined && (message === null || onlyCreates(context))) {
    const author = found.author(groupId, authorId);
    const failure = authorError(groupId, author.status, author.isMember, write);
    if (failure !== null) return failure;
  }
  const users = found.unknownUsers();
  if (users.count > 0) return { kind: 'unknownUsers', users };
  return preconditionFailure(context, message?.revision ?? null);
}

/**
 * The time of a new message: after the latest time up to which a user has seen the thread (null where none has), so that it is
 * unread whatever the clocks of several processes are. Authors have seen their messages, so it is after those too. An import has
 * its own time.
 */
export const messageTime = ({ createdAt }: MaybeImport, lastSeenAt: number | null, now: number): number =>
  createdAt ?? Math.max(now, lastSeenAt === null ? now : lastSeenAt + 1);

/** A new message; its write has content. */
export const newMessage = (write: StoredMessageWrite, now: number): MessageFields =>
  changedMessage(EMPTY_MESSAGE, write, now);

/** A time that the write supplies is that of the message, or the message is new. */
export function changedMessage(stored: MessageFields, write: StoredMessageWrite, now: number): MessageFields {
  const deletedAt = stored.deletedAt ?? write.deletedAt ?? null;
  const { deleted = deletedAt !== null } = write;
  return {
    type: write.type ?? stored.type,
    content: write.content?.json ?? stored.content,
    url: write.url === undefined ? stored.url : write.url,
    metadata: write.metadata ?? stored.metadata,
    deletedAt: deleted ? (deletedAt ?? now) : null,
  };
}

const MESSAGE_FIELDS: Readonly<Record<keyof MessageFields, string>> = {
  type: 'type',
  content: 'content',
  url: 'url',
  metadata: 'metadata',
  deletedAt: 'deleted',
};

export const changedMessageFields = (before: MessageFields, after: MessageFields): string[] =>
  changedFields(MESSAGE_FIELDS, before, after);

/** The time of the last change after an update of these fields: `deleted` does not count, and the time never goes back. */
export function updateTime(
  fields: readonly string[],
  { updatedAt }: Pick<MessageRecord, 'updatedAt'>,
  now: number,
): number | null {
  return fields.some((field) => field !== 'deleted') ? Math.max(now, updatedAt ?? now) : updatedAt;
}

/** Content as it is stored: its text without the end before which texts are appended, its length as markdown, its bytes. */
export const contentColumns = ({ json, markdownLength }: StoredContent) =>
  [
    markdownLength === null ? json : json.slice(0, -MARKDOWN_END.length),
    markdownLength,
    Buffer.byteLength(json),
  ] as const;

export type MessageCounts = Pick<ThreadRecord, 'userMessages' | 'actionMessages' | 'deletedMessages'>;

type CountedMessage = Pick<MessageFields, 'type' | 'deletedAt'>;

/** The count of a thread in which a message is. A deleted one counts as such whatever its type is. */
export const countOf = ({ type, deletedAt }: CountedMessage): keyof MessageCounts => {
  if (deletedAt !== null) return 'deletedMessages';
  return type === 'user_message' ? 'userMessages' : 'actionMessages';
};

/** The counts when a message that was `before` is `after`; null where it is not there. */
export function recounted(
  counts: MessageCounts,
  before: CountedMessage | null,
  after: CountedMessage | null,
): MessageCounts {
  const { userMessages, actionMessages, deletedMessages } = counts;
  const changed = { userMessages, actionMessages, deletedMessages };
  if (before !== null) changed[countOf(before)] -= 1;
  if (after !== null) changed[countOf(after)] += 1;
  return changed;
}
