/** The events of threads and messages. */
import type { MessageRecord } from '../store/ports/messages.ts';
import type { ThreadRecord } from '../store/ports/threads.ts';
import type { Json } from '../values/json.ts';
import {
  type MessageOwner,
  presentMessage,
  presentThread,
  presentThreads,
} from './conversation-presenters.ts';
import { positionId, readPositionId } from './event-text.ts';
import { listTail } from './json-answer.ts';
import type { StreamEvent } from './stream-event.ts';

const event = (name: string, id: string, data: Json): StreamEvent => ({ name, id, data });

/** A position among the events of one thread, or of one list of threads. */
export interface EventPosition {
  /** Another one wherever positions begin anew. */
  readonly epoch: string;
  readonly position: number;
}

export const eventId = ({ epoch, position }: EventPosition) => positionId({ epoch, offset: position });

/** The position that a `Last-Event-ID` names; null where it is none. */
export function readEventId(id: string | undefined): EventPosition | null {
  const read = readPositionId(id);
  return read === null || read.checksum !== undefined ? null : { epoch: read.epoch, position: read.offset };
}

/** `token` leads to the messages before these, with `order=descending`. Takes the newest first. */
export function messagesSnapshot(
  thread: ThreadRecord,
  newestFirst: readonly MessageRecord[],
  token: string | null,
  id: string,
): StreamEvent {
  const owner = { threadId: thread.id, groupId: thread.groupId };
  const messages = newestFirst.map((message) => presentMessage(message, owner)).reverse();
  const data = `{"thread":${presentThread(thread)},"messages":[${messages.join(',')}${listTail(token)}`;
  return event('snapshot', id, data);
}

export const threadsSnapshot = (threads: readonly ThreadRecord[], token: string | null, id: string) =>
  event('snapshot', id, presentThreads(threads, token));

export const messageEvent = (message: MessageRecord, owner: MessageOwner, id: string) =>
  event('message', id, presentMessage(message, owner));

/** `escaped` is the text between the quotes of a JSON string; `length` is of the whole text, in code points. */
export const appendedEvent = (messageId: string, escaped: Json, length: number, id: string) =>
  event('appended', id, `{"id":${JSON.stringify(messageId)},"text":"${escaped}","length":${length}}`);

export const removedEvent = (removedId: string, id: string) =>
  event('removed', id, `{"id":${JSON.stringify(removedId)}}`);

export const threadEvent = (thread: ThreadRecord, id: string) => event('thread', id, presentThread(thread));
