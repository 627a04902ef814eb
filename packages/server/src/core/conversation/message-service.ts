import { limits, type MessageAppend, type MessageCreation, type MessageWrite } from '@rollcall/protocol';
import { codePoints, storedContent } from '../../store/conversation/stored-content.ts';
import type {
  AppendOutcome,
  FoundMessage,
  MessageListRequest,
  MessagePage,
  PutMessageOutcome,
  StoredMessageWrite,
} from '../../store/ports/messages.ts';
import type { Precondition, Revision } from '../../store/precondition.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { conditionFailed, requireFound, unknownUsers } from '../errors.ts';
import { ResourceService } from '../resource-service.ts';
import { ServiceError } from '../service-error.ts';
import { invalidField } from '../validation-error.ts';
import {
  messageExists,
  messageNotFound,
  type RejectedWrite,
  rejectedWrite,
  threadNotFound,
  timeOf,
} from './conversation-errors.ts';
import { toStoredThread } from './thread-service.ts';

/** The fields of a message that a request writes; a creation may name the thread to create. */
type MessageInput = MessageWrite &
  Pick<MessageCreation, 'createThread'> &
  Pick<StoredMessageWrite, 'inGroup' | 'ofAuthor'>;

interface AppendResult {
  /** Code points of the whole text. */
  readonly length: number;
  readonly revision: Revision;
}

export class MessageService extends ResourceService<'messages'> {
  /** @throws ServiceError `thread_not_found`, `message_not_found` */
  async find(project: ProjectKey, threadId: string, id: string): Promise<FoundMessage> {
    const found = await this.store.messages.find(project, threadId, id);
    if (found.kind === 'found') return found;
    throw found.kind === 'threadAbsent' ? threadNotFound(threadId) : messageNotFound(id, threadId);
  }

  /** @throws ServiceError `thread_not_found` */
  async list(project: ProjectKey, threadId: string, request: MessageListRequest): Promise<MessagePage> {
    const page = await this.store.messages.list(project, threadId, request);
    return requireFound(page, () => threadNotFound(threadId));
  }

  /**
   * Creates or updates, and returns which.
   * @throws ServiceError for a missing field, what is not found (thread, group, author, mentioned users), a precondition
   */
  async put(
    writer: Writer,
    threadId: string,
    id: string,
    write: MessageInput,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const { project } = writer;
    const rejected: (outcome: RejectedWrite) => ServiceError = (outcome) =>
      rejectedWrite(outcome, write.authorID);
    const { kind } = await this.writes.run<PutMessageOutcome>(
      writer,
      (context) => this.store.messages.put(project, threadId, id, toStoredMessage(write), context),
      {
        fieldsRequired: rejected,
        futureTimes: rejected,
        fixedFields: rejected,
        threadAbsent: () => threadNotFound(threadId),
        absent: () => messageNotFound(id, threadId),
        groupUnavailable: rejected,
        authorUnavailable: rejected,
        unknownUsers: ({ users }) => unknownUsers(users),
        exists: () => messageExists(id, threadId),
        stale: () => conditionFailed(`message ${id}`),
      },
      precondition,
    );
    return kind === 'created' ? 'created' : 'updated';
  }

  async exists(project: ProjectKey, threadId: string, id: string): Promise<boolean> {
    return (await this.store.messages.find(project, threadId, id)).kind === 'found';
  }

  /** Adds a text to a message that is one markdown node. @throws ServiceError `message_not_appendable`, 412 for `offset` */
  async append(
    writer: Writer,
    threadId: string,
    id: string,
    { text, offset = null }: Omit<MessageAppend, 'offset'> & { readonly offset?: number | null },
    precondition: Precondition,
  ): Promise<AppendResult> {
    const append = { escaped: JSON.stringify(text).slice(1, -1), length: codePoints(text), offset };
    // Whatever the message has: as another invalid field, it is found before what is stored is compared.
    if (Buffer.byteLength(append.escaped) >= limits.CONTENT_MAX_BYTES) throw tooLarge();
    return this.writes.run<AppendOutcome>(
      writer,
      (context) => this.store.messages.append(writer.project, threadId, id, append, context),
      {
        threadAbsent: () => threadNotFound(threadId),
        absent: () => messageNotFound(id, threadId),
        groupUnavailable: rejectedWrite,
        notAppendable: () => notAppendable(id),
        tooLarge,
        stale: () => staleAppend(id),
      },
      precondition,
    );
  }

  /** Removes the message for good. @throws ServiceError `thread_not_found`, `message_not_found`, or a precondition */
  async remove(writer: Writer, threadId: string, id: string, precondition: Precondition): Promise<void> {
    await this.writes.run(
      writer,
      (context) => this.store.messages.delete(writer.project, threadId, id, context),
      {
        threadAbsent: () => threadNotFound(threadId),
        absent: () => messageNotFound(id, threadId),
        stale: () => conditionFailed(`message ${id}`),
      },
      precondition,
    );
  }
}

const notAppendable = (id: string) =>
  new ServiceError(
    'message_not_appendable',
    `message ${id} cannot be appended to: it must contain a markdown node only, and not be deleted`,
  );

const staleAppend = (id: string) =>
  new ServiceError(
    'invalid_request',
    `the text of message ${id} has another length, or If-Match does not hold: read it again`,
    {
      status: 412,
    },
  );

const tooLarge = () =>
  invalidField('text', `a text with which the content has at most ${limits.CONTENT_MAX_BYTES} bytes of JSON`);

/** The write as the store takes it. */
export function toStoredMessage(write: MessageInput): StoredMessageWrite {
  const { authorID, content, metadata, createThread, ...rest } = write;
  const { createdTimestamp, updatedTimestamp, deletedTimestamp, ...fields } = rest;
  const times = {
    createdAt: timeOf(createdTimestamp),
    updatedAt: timeOf(updatedTimestamp),
    deletedAt: timeOf(deletedTimestamp),
  };
  const given = Object.entries(times).filter(([, time]) => time !== undefined);
  return {
    ...fields,
    ...(authorID !== undefined && { authorId: authorID }),
    ...(content !== undefined && { content: storedContent(content) }),
    ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    ...(Object.fromEntries(given) as { readonly [Name in keyof typeof times]?: number }),
    ...(createThread !== undefined && { createThread: toStoredThread(createThread) }),
  };
}
