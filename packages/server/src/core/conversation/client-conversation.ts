import type {
  ClientCreateThread,
  ClientMessageCreation,
  ClientMessageWrite,
  ClientThreadCreation,
} from '@rollcall/protocol';
import type { FoundMessage, MessageListRequest, MessagePage } from '../../store/ports/messages.ts';
import type { ThreadListRequest, ThreadPage, ThreadRecord } from '../../store/ports/threads.ts';
import type { Precondition } from '../../store/precondition.ts';
import type { ClientWriter } from '../caller.ts';
import type { ClientSessions } from '../clients/client-session.ts';
import { GroupError, ServiceError } from '../service-error.ts';
import { threadNotFound } from './conversation-errors.ts';
import type { MessageService } from './message-service.ts';
import type { ThreadService } from './thread-service.ts';

/** How often a message is tried whose thread is made or deleted meanwhile. */
const ATTEMPTS_MAX = 3;

interface Parts {
  readonly clients: ClientSessions;
  readonly threads: ThreadService;
  readonly messages: MessageService;
}

/**
 * Threads and messages as a browser has them: in the groups of its token, writing as its user. A group that the caller
 * may not enter reads like one without the thread.
 */
export class ClientConversation {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws ServiceError `thread_not_found`, also in a group that is not the caller's; `user_not_found` for a deleted user */
  async findThread(caller: ClientWriter, id: string): Promise<ThreadRecord> {
    // The login is checked first: a deleted user does not learn whether the thread exists.
    await this.#parts.clients.user({ ...caller, group: null });
    const thread = await this.#parts.threads.find(caller.project, id, caller.userId);
    await this.#enter(caller, thread.groupId, id);
    return thread;
  }

  /** The group of the request, or the token's. @throws ServiceError `thread_not_found` where it is not the caller's */
  enterGroup(caller: ClientWriter, requested: string | null): Promise<string> {
    return this.#enter(caller, requested, null);
  }

  /** Threads of the group that the filter names. @throws ServiceError `thread_not_found` where it is not the caller's */
  async listThreads(
    caller: ClientWriter,
    requested: string | null,
    request: (groupId: string) => ThreadListRequest,
  ): Promise<ThreadPage> {
    const groupId = await this.enterGroup(caller, requested);
    return this.#parts.threads.list(caller.project, request(groupId));
  }

  /** The group is checked for each page: a thread of another group can be made in place of the one that was found. */
  async listMessages(
    caller: ClientWriter,
    threadId: string,
    request: MessageListRequest,
  ): Promise<MessagePage> {
    const { groupId } = await this.findThread(caller, threadId);
    const page = await this.#parts.messages.list(caller.project, threadId, request);
    if (page.groupId !== groupId) throw threadNotFound(threadId);
    return page;
  }

  async findMessage(caller: ClientWriter, threadId: string, id: string): Promise<FoundMessage> {
    const { groupId } = await this.findThread(caller, threadId);
    const found = await this.#parts.messages.find(caller.project, threadId, id);
    if (found.groupId !== groupId) throw threadNotFound(threadId);
    return found;
  }

  async createThread(
    writer: ClientWriter,
    id: string,
    write: Omit<ClientThreadCreation, 'id'>,
    condition: Precondition,
  ): Promise<void> {
    const groupID = await this.#enter(writer, write.groupID ?? null, id);
    const put = this.#parts.threads.put(
      writer,
      id,
      { ...write, groupID },
      { ...condition, ifNoneMatch: '*' },
    );
    await this.#written(put, writer, groupID, id);
  }

  async resolveThread(
    writer: ClientWriter,
    id: string,
    resolved: boolean,
    condition: Precondition,
  ): Promise<void> {
    const { groupId } = await this.findThread(writer, id);
    const put = this.#parts.threads.put(writer, id, { resolved, inGroup: groupId }, condition);
    await this.#written(put, writer, groupId, id);
  }

  async markSeen(
    writer: ClientWriter,
    id: string,
    messageId: string | null,
    condition: Precondition,
  ): Promise<void> {
    const { groupId } = await this.findThread(writer, id);
    const mark = { userId: writer.userId, messageId, inGroup: groupId };
    await this.#parts.threads.markSeen(writer, id, mark, condition);
  }

  /** Writes a new message as the token's user, and makes the thread where it is missing and the request names it. */
  async createMessage(
    writer: ClientWriter,
    threadId: string,
    id: string,
    { createThread, ...write }: Omit<ClientMessageCreation, 'id'>,
    condition: Precondition,
  ): Promise<void> {
    const onlyNew = { ...condition, ifNoneMatch: '*' } as const;
    for (let attempt = 1; ; attempt += 1) {
      const groupID = await this.#enterForMessage(writer, threadId, createThread);
      const message = { ...write, authorID: writer.userId, inGroup: groupID };
      // A thread that was found in another group than the one to make it in is not made there.
      const isMade = createThread !== undefined && (createThread.groupID ?? writer.group) === groupID;
      const made = isMade ? { ...message, createThread: { ...createThread, groupID } } : message;
      const put = this.#parts.messages.put(writer, threadId, id, made, onlyNew);
      try {
        await this.#written(put, writer, groupID, threadId);
        return;
      } catch (error) {
        // The thread may have been made or deleted meanwhile, so that the message belongs in another group.
        if (createThread === undefined || !isThreadNotFound(error) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /** Changes one of the caller's own messages. @throws ServiceError `message_not_found`, also for the message of another user */
  async changeMessage(
    writer: ClientWriter,
    threadId: string,
    id: string,
    write: ClientMessageWrite,
    condition: Precondition,
  ): Promise<void> {
    const { groupId } = await this.findThread(writer, threadId);
    const own = { ...write, inGroup: groupId, ofAuthor: writer.userId };
    const put = this.#parts.messages.put(writer, threadId, id, own, condition);
    await this.#written(put, writer, groupId, threadId);
  }

  /** Waits for a write. Where the caller lost the group meanwhile, the error is that of every request. */
  async #written(write: Promise<unknown>, caller: ClientWriter, groupId: string, threadId: string) {
    try {
      await write;
    } catch (error) {
      const maybeLost = ['group_not_found', 'user_not_found'] as const;
      if (error instanceof ServiceError && maybeLost.some((code) => code === error.code))
        await this.#enter(caller, groupId, threadId);
      throw error;
    }
  }

  async #enterForMessage(
    caller: ClientWriter,
    threadId: string,
    createThread: ClientCreateThread | undefined,
  ): Promise<string> {
    try {
      return (await this.findThread(caller, threadId)).groupId;
    } catch (error) {
      if (!isThreadNotFound(error) || createThread === undefined) throw error;
      return this.#enter(caller, createThread.groupID ?? null, threadId);
    }
  }

  /** @throws ServiceError `thread_not_found` of `threadId` in place of `group_not_found` */
  async #enter(caller: ClientWriter, groupId: string | null, threadId: string | null): Promise<string> {
    try {
      return await this.#parts.clients.enter(caller, groupId);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'group_not_found') throw error;
      throw threadId === null ? threadNotFoundIn(groupId ?? caller.group ?? '') : threadNotFound(threadId);
    }
  }
}

const isThreadNotFound = (error: unknown) =>
  error instanceof ServiceError && error.code === 'thread_not_found';

const threadNotFoundIn = (groupId: string) =>
  new GroupError('thread_not_found', 'no thread of ', ` ${groupId} is one of the caller's`);
