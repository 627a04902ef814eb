import { canonicalLocation, type ThreadWrite, ValidationErrors } from '@rollcall/protocol';
import type {
  PutThreadOutcome,
  StoredThreadWrite,
  ThreadListRequest,
  ThreadPage,
  ThreadRecord,
} from '../store/ports/threads.ts';
import type { Precondition } from '../store/precondition.ts';
import type { Store } from '../store/store.ts';
import type { ProjectKey } from '../values/project-key.ts';
import type { Writer } from './caller.ts';
import type { Clock } from './clock.ts';
import {
  checkTimes,
  conversationConditionFailed,
  messageNotFound,
  rejectedWrite,
  threadExists,
  threadNotFound,
  timeOf,
} from './conversation-errors.ts';
import { groupNotFound } from './errors.ts';
import type { StoreWrites } from './store-writes.ts';
import { type ErrorsByStep, validationError } from './validation-error.ts';

interface Parts {
  readonly store: Pick<Store, 'threads' | 'groups'>;
  readonly writes: StoreWrites;
  readonly clock: Clock;
}

/** The fields without which no thread is made. */
const REQUIRED = ['groupID', 'name'] as const;

/** The rules of threads. */
export class ThreadService {
  readonly #store: Parts['store'];
  readonly #writes: StoreWrites;
  readonly #clock: Clock;

  constructor({ store, writes, clock }: Parts) {
    this.#store = store;
    this.#writes = writes;
    this.#clock = clock;
  }

  /** `viewer` is the user whose unread messages are counted. @throws ServiceError `thread_not_found` */
  async find(project: ProjectKey, id: string, viewer: string | null = null): Promise<ThreadRecord> {
    const thread = await this.#store.threads.find(project, id, viewer);
    if (thread === null) throw threadNotFound(id);
    return thread;
  }

  /** @throws ServiceError `group_not_found`, where the filter names a group */
  async list(project: ProjectKey, request: ThreadListRequest): Promise<ThreadPage> {
    const { groupId } = request.filter;
    if (groupId !== null && !(await this.#store.groups.exists(project, groupId)))
      throw groupNotFound(groupId);
    return this.#store.threads.list(project, request);
  }

  /** Creates or updates, and says which. @throws ServiceError for a missing field, an unknown group, a precondition */
  async put(
    writer: Writer,
    id: string,
    write: ThreadWrite,
    precondition: Precondition,
  ): Promise<'created' | 'updated'> {
    const { project } = writer;
    const errors = new ValidationErrors();
    checkThreadTimes(write, this.#clock.now(), errors);
    if (!errors.clean) return this.rejectInvalid(project, id, write, precondition, errors);
    const { kind } = await this.#writes.run<PutThreadOutcome>(
      writer,
      precondition,
      (context) => this.#store.threads.put(project, id, toStoredThread(write), context),
      {
        fieldsRequired: rejectedWrite,
        fixedField: rejectedWrite,
        groupUnavailable: rejectedWrite,
        exists: () => threadExists(id),
        stale: () => conversationConditionFailed(`thread ${id}`),
      },
    );
    return kind === 'created' ? 'created' : 'updated';
  }

  /**
   * Rejects a write that does not fit. Which fields are missing depends on the thread being there, and missing comes before
   * invalid, so the store is asked when only values are wrong.
   */
  async rejectInvalid(
    project: ProjectKey,
    id: string,
    write: object,
    { ifMatch }: Precondition,
    errors: ErrorsByStep,
  ): Promise<never> {
    const missing = REQUIRED.filter((field) => !Object.hasOwn(write, field));
    if (missing.length > 0 && ifMatch === undefined && errors.unexpected.count === 0) {
      const isThere = (await this.#store.threads.find(project, id, null)) !== null;
      if (!isThere) throw rejectedWrite({ kind: 'fieldsRequired', fields: missing });
    }
    throw validationError(errors);
  }

  /** Removes the thread with its messages. @throws ServiceError `thread_not_found`, or a precondition */
  async remove(writer: Writer, id: string, precondition: Precondition): Promise<void> {
    await this.#writes.run(
      writer,
      precondition,
      (context) => this.#store.threads.delete(writer.project, id, context),
      { absent: () => threadNotFound(id), stale: () => conversationConditionFailed(`thread ${id}`) },
    );
  }

  /** Marks the thread as seen up to a message, or up to now. @throws ServiceError `thread_not_found`, `message_not_found` */
  async markSeen(
    writer: Writer,
    { id, groupId }: Pick<ThreadRecord, 'id' | 'groupId'>,
    userId: string,
    messageId: string | null,
  ): Promise<void> {
    const { kind } = await this.#writes.run(
      writer,
      {},
      (context) => this.#store.threads.markSeen(writer.project, id, userId, messageId, context),
      { absent: () => threadNotFound(id), messageAbsent: () => messageNotFound(messageId ?? '', id) },
    );
    if (kind === 'updated') this.#writes.publishSeen(writer.project, groupId, id);
  }
}

/** Rejects times in the future, and a time of resolution of a thread that is not resolved. */
export function checkThreadTimes(write: ThreadWrite, now: number, errors: ValidationErrors): void {
  const { createdTimestamp, resolvedTimestamp, resolved } = write;
  checkTimes({ createdTimestamp, resolvedTimestamp }, now, errors);
  if (resolvedTimestamp !== undefined && resolved === false)
    errors.invalid.add('resolvedTimestamp', 'no time of resolution where resolved is false');
}

/** The write as the store takes it. */
export function toStoredThread(write: ThreadWrite): StoredThreadWrite {
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
