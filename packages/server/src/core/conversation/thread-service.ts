import { canonicalLocation, type ThreadWrite } from '@rollcall/protocol';
import type {
  PutThreadOutcome,
  SeenMark,
  StoredThreadWrite,
  ThreadListRequest,
  ThreadPage,
  ThreadRecord,
} from '../../store/ports/threads.ts';
import type { Precondition } from '../../store/precondition.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Writer } from '../caller.ts';
import { conditionFailed, groupNotFound, requireFound } from '../errors.ts';
import { ResourceService } from '../resource-service.ts';
import {
  messageNotFound,
  rejectedWrite,
  threadExists,
  threadNotFound,
  timeOf,
} from './conversation-errors.ts';

/** The fields of a thread that a request writes. */
type ThreadInput = ThreadWrite & Pick<StoredThreadWrite, 'inGroup'>;

export class ThreadService extends ResourceService<'threads' | 'groups'> {
  /** `viewer` is the user whose unread messages are counted. @throws ServiceError `thread_not_found` */
  async find(project: ProjectKey, id: string, viewer: string | null = null): Promise<ThreadRecord> {
    return requireFound(await this.store.threads.find(project, id, viewer), () => threadNotFound(id));
  }

  /** @throws ServiceError `group_not_found`, where the filter names a group */
  async list(project: ProjectKey, request: ThreadListRequest): Promise<ThreadPage> {
    const { groupId } = request.filter;
    if (groupId !== null && !(await this.store.groups.exists(project, groupId))) throw groupNotFound(groupId);
    return this.store.threads.list(project, request);
  }

  /** Creates or updates, and returns which. @throws ServiceError for a missing field, an unknown group, a precondition */
  async put(
    writer: Writer,
    id: string,
    write: ThreadInput,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const { project } = writer;
    const { kind } = await this.writes.run<PutThreadOutcome>(
      writer,
      (context) => this.store.threads.put(project, id, toStoredThread(write), context),
      {
        fieldsRequired: rejectedWrite,
        futureTimes: rejectedWrite,
        fixedFields: rejectedWrite,
        groupUnavailable: rejectedWrite,
        absent: () => threadNotFound(id),
        exists: () => threadExists(id),
        stale: () => conditionFailed(`thread ${id}`),
      },
      precondition,
    );
    return kind === 'created' ? 'created' : 'updated';
  }

  async exists(project: ProjectKey, id: string): Promise<boolean> {
    return (await this.store.threads.find(project, id, null)) !== null;
  }

  /** Removes the thread with its messages. @throws ServiceError `thread_not_found`, or a precondition */
  async remove(writer: Writer, id: string, precondition: Precondition): Promise<void> {
    await this.writes.run(
      writer,
      (context) => this.store.threads.delete(writer.project, id, context),
      { absent: () => threadNotFound(id), stale: () => conditionFailed(`thread ${id}`) },
      precondition,
    );
  }

  /**
   * Marks the thread as seen up to a message, or up to now.
   * @throws ServiceError `thread_not_found`, `message_not_found`, or a precondition
   */
  async markSeen(
    writer: Writer,
    id: string,
    mark: SeenMark & Required<Pick<SeenMark, 'inGroup'>>,
    precondition: Precondition,
  ): Promise<void> {
    const { kind } = await this.writes.run(
      writer,
      (context) => this.store.threads.markSeen(writer.project, id, mark, context),
      {
        absent: () => threadNotFound(id),
        messageAbsent: () => messageNotFound(mark.messageId ?? '', id),
        stale: () => conditionFailed(`thread ${id}`),
      },
      precondition,
    );
    if (kind === 'updated') this.writes.publishSeen(writer.project, mark.inGroup, id);
  }
}

/** The write as the store takes it. */
export function toStoredThread(write: ThreadInput): StoredThreadWrite {
  const { groupID, location, metadata, createdTimestamp, resolvedTimestamp, ...rest } = write;
  const createdAt = timeOf(createdTimestamp);
  const resolvedAt = timeOf(resolvedTimestamp);
  return {
    ...rest,
    ...(groupID !== undefined && { groupId: groupID }),
    ...(location !== undefined && { location: location === null ? null : canonicalLocation(location) }),
    ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
    ...(createdAt !== undefined && { createdAt }),
    ...(resolvedAt !== undefined && { resolvedAt }),
  };
}
