import {
  Content,
  exactly,
  Id,
  MessageCreation,
  type Static,
  ThreadCreation,
  ValidationErrors,
  validator,
} from '@rollcall/protocol';
import { complaintOf } from '../records/complaint.ts';
import { LineError, type LineOrigin } from '../records/record-line.ts';

const { type: messageType, createThread: _, ...messageFields } = MessageCreation.properties;

/** The fields of a line, besides its `type`: those of a creation, with the ID. */
const SCHEMAS = {
  thread: exactly({ ...ThreadCreation.properties, id: Id }),
  message: exactly({ threadID: Id, ...messageFields, id: Id, messageType, content: Content }),
};
export type ThreadLine = Static<typeof SCHEMAS.thread>;
export type MessageLine = Static<typeof SCHEMAS.message>;

const VALIDATORS = { thread: validator(SCHEMAS.thread), message: validator(SCHEMAS.message) };

/** A line about a thread or a message. It is sent by itself. */
export type ConversationEntry =
  | { readonly origin: LineOrigin; readonly kind: 'thread'; readonly item: ThreadLine }
  | { readonly origin: LineOrigin; readonly kind: 'message'; readonly item: MessageLine };

/** @throws LineError where the line is not valid */
export function conversationEntry(
  kind: ConversationEntry['kind'],
  item: unknown,
  origin: LineOrigin,
): ConversationEntry {
  const errors = new ValidationErrors();
  VALIDATORS[kind](item as object, errors);
  if (!errors.clean) throw new LineError(`the ${kind} ${complaintOf(errors)}`);
  return { origin, kind, item } as ConversationEntry;
}

const threadOf = (entry: ConversationEntry) =>
  entry.kind === 'thread' ? entry.item.id : entry.item.threadID;

/**
 * Whether it matters which of two lines is applied first: a thread comes before its messages, and messages of the same
 * time stay in their order.
 */
export function conversationConflict(one: ConversationEntry, other: ConversationEntry): boolean {
  if (threadOf(one) !== threadOf(other)) return false;
  if (one.kind === 'thread' || other.kind === 'thread') return true;
  const times = [one.item.createdTimestamp, other.item.createdTimestamp].map((time) =>
    Date.parse(time ?? ''),
  );
  return one.item.id === other.item.id || times[0] === times[1] || times.some(Number.isNaN);
}
