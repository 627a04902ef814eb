import { hash } from 'node:crypto';
import { type Message, type Thread, ValidationErrors } from '@rollcall/protocol';
import type { Clock } from '../../core/clock.ts';
import { rejectedWrite, threadNotFound } from '../../core/conversation/conversation-errors.ts';
import { checkMessageTimes, checkThreadTimes } from '../../core/conversation/conversation-times.ts';
import { toStoredMessage } from '../../core/conversation/message-service.ts';
import { toStoredThread } from '../../core/conversation/thread-service.ts';
import { unknownUsers } from '../../core/errors.ts';
import { ServiceError } from '../../core/service-error.ts';
import { validationError } from '../../core/validation-error.ts';
import { fixedOfThread, groupError, messageError } from '../../store/conversation/conversation-writes.ts';
import { idSample } from '../../store/outcomes.ts';
import type { StoredMessageWrite } from '../../store/ports/messages.ts';
import type { ApiConnection } from './api-connection.ts';
import { pathSegment } from './api-path.ts';
import type { CheckedRoster } from './checked-roster.ts';
import { comparable } from './comparable.ts';
import type { ConversationEntry, MessageLine, ThreadLine } from './conversation-line.ts';
import {
  type LineOutcome,
  messageRequests,
  type SubmitConversation,
  threadRequests,
} from './conversation-request.ts';
import { RosterReading } from './roster-reading.ts';

/** The values of fields, to be compared; a field that is absent has a value that is not known. */
type Fields = Readonly<Record<string, string>>;

interface FoundThread {
  readonly groupId: string;
  readonly createdAt: number;
  readonly fields: Fields;
}

interface FoundMessage {
  readonly authorId: string;
  readonly createdAt: number;
  readonly fields: Fields;
}

/**
 * Checks lines about threads and messages without writing, by the rules of the server. What earlier lines would have written
 * counts as there: their IDs and short digests of their fields are stored in memory. Of a message that is deleted on the server,
 * content and metadata are not shown; those of a line count as the same.
 */
export class ConversationCheck {
  readonly #connection: ApiConnection;
  readonly #roster: RosterReading;
  readonly #clock: Pick<Clock, 'now'>;
  /** Those of earlier lines, and those that the server has of them. */
  readonly #threads = new Map<string, FoundThread>();
  /** Those that earlier lines would have written. */
  readonly #messages = new Map<string, FoundMessage>();

  constructor(connection: ApiConnection, checked: CheckedRoster, clock: Pick<Clock, 'now'>) {
    this.#connection = connection;
    this.#roster = new RosterReading(connection, checked);
    this.#clock = clock;
  }

  readonly submit: SubmitConversation = async (entry) => {
    try {
      return await this.#check(entry);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { rejected: `${error.code}: ${error.message}` };
    }
  };

  #check(entry: ConversationEntry): Promise<LineOutcome> {
    return entry.kind === 'thread' ? this.#checkThread(entry.item) : this.#checkMessage(entry.item);
  }

  async #checkThread(item: ThreadLine): Promise<LineOutcome> {
    const { id, groupID: groupId } = item;
    const { creation, update, path } = threadRequests(item);
    const found = await this.#findThread(id, path);
    if (found !== null && agree(found.fields, update)) return 'unchanged';
    const body = found === null ? creation : update;
    this.#requireTimes(checkThreadTimes, body, found === null);
    const write = toStoredThread(body);
    const error =
      (found === null ? null : fixedOfThread({ ...found, resolvedAt: null }, write, {})) ??
      groupError(groupId, await this.#roster.groupStatus(groupId), write);
    if (error !== null) throw rejectedWrite(error);
    const { createdAt = found?.createdAt ?? this.#clock.now() } = write;
    const fields =
      found === null ? newThreadFields(item, createdAt) : { ...found.fields, ...digests(update) };
    this.#threads.set(id, { groupId, createdAt, fields });
    return found === null ? 'created' : 'updated';
  }

  async #checkMessage(item: MessageLine): Promise<LineOutcome> {
    const { id, threadID, authorID: authorId } = item;
    const { creation, update, path } = messageRequests(item);
    const thread = await this.#findThread(threadID, `/v1/threads/${pathSegment(threadID)}`);
    const key = `${threadID}\0${id}`;
    const found = thread === null ? null : (this.#messages.get(key) ?? (await this.#findMessage(path)));
    const isSame = found !== null && agree(found.fields, update);
    // A run writes a deleted message in any case, and so can be rejected.
    if (isSame && found.fields.deleted !== 'true') return 'unchanged';
    const body = found === null ? creation : update;
    this.#requireTimes(checkMessageTimes, body, found === null);
    const write = toStoredMessage(body);
    await this.#requireMessage(threadID, thread, found, write);
    if (isSame) return 'unchanged';
    const { createdAt = found?.createdAt ?? this.#clock.now() } = write;
    const fields =
      found === null ? newMessageFields(item, createdAt) : { ...found.fields, ...digests(update) };
    this.#messages.set(key, { authorId, createdAt, fields });
    return found === null ? 'created' : 'updated';
  }

  #requireTimes<Body extends object>(
    check: (body: Body, errors: ValidationErrors, now?: number) => void,
    body: Body,
    isNew: boolean,
  ): void {
    const errors = new ValidationErrors();
    check(body, errors, isNew ? this.#clock.now() : undefined);
    if (!errors.clean) throw validationError(errors);
  }

  /** @throws ServiceError where the server would reject the write */
  async #requireMessage(
    threadId: string,
    thread: FoundThread | null,
    found: FoundMessage | null,
    write: StoredMessageWrite,
  ): Promise<void> {
    if (thread === null) throw threadNotFound(threadId);
    const { groupId } = thread;
    const { authorId = '', content, createdAt } = write;
    const [roster, isImport] = [this.#roster, createdAt !== undefined];
    const groupStatus = await roster.groupStatus(groupId);
    const status = found === null ? await roster.userStatus(authorId) : null;
    const isMember = found === null && !isImport && (await roster.isMember(groupId, authorId));
    const missing: string[] = [];
    for (const id of content?.userIds ?? []) if ((await roster.userStatus(id)) === null) missing.push(id);
    const message = found === null ? null : { ...found, updatedAt: null, deletedAt: null, revision: '' };
    const error = messageError(
      {
        ...{ thread, message },
        groupStatus: () => groupStatus,
        author: () => ({ status, isMember }),
        unknownUsers: () => idSample(missing),
      },
      write,
      { now: this.#clock.now(), ...(found === null && { ifNoneMatch: '*' }) },
    );
    switch (error?.kind) {
      case 'fieldsRequired':
      case 'futureTimes':
      case 'fixedFields':
      case 'groupUnavailable':
      case 'authorUnavailable':
        throw rejectedWrite(error, authorId);
      case 'unknownUsers':
        throw unknownUsers(error.users);
    }
  }

  async #findThread(id: string, path: string): Promise<FoundThread | null> {
    const known = this.#threads.get(id);
    if (known !== undefined) return known;
    const thread = await this.#connection.find<Thread>(path);
    if (thread === null) return null;
    const { groupID, name, url, location, metadata, resolved, createdTimestamp } = thread;
    const fields = digests({ groupID, name, url, location, metadata, resolved, createdTimestamp });
    const found = { groupId: groupID, createdAt: Date.parse(createdTimestamp), fields };
    this.#threads.set(id, found);
    return found;
  }

  async #findMessage(path: string): Promise<FoundMessage | null> {
    const message = await this.#connection.find<Message>(path);
    if (message === null) return null;
    const { authorID, type, content, url, metadata, createdTimestamp, deletedTimestamp } = message;
    const deleted = deletedTimestamp !== null;
    const hidden = deleted ? {} : { content, metadata };
    const fields = digests({ authorID, type, url, createdTimestamp, deleted, ...hidden });
    return { authorId: authorID, createdAt: Date.parse(createdTimestamp), fields };
  }
}

const agree = (fields: Fields, update: object) =>
  Object.entries(digests(update)).every(([name, value]) => (fields[name] ?? value) === value);

const digests = (fields: object): Fields =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, digest(comparable(name, value))]));

/** Characters of a digest. Shorter texts stand for themselves; they are JSON, which none is. */
const DIGEST_LENGTH = 43;
const digest = (text: string) =>
  text.length < DIGEST_LENGTH ? text : hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);

const newThreadFields = (item: ThreadLine, createdAt: number): Fields => {
  const { groupID, name, url = null, location = null, metadata = {}, resolvedTimestamp } = item;
  const { resolved = resolvedTimestamp !== undefined } = item;
  return { ...digests({ groupID, name, url, location, metadata, resolved }), ...timeField(createdAt) };
};

const newMessageFields = (item: MessageLine, createdAt: number): Fields => {
  const { authorID, content, messageType: type = 'user_message', url = null, metadata = {} } = item;
  const deleted = item.deletedTimestamp !== undefined;
  return { ...digests({ authorID, content, type, url, metadata, deleted }), ...timeField(createdAt) };
};

const timeField = (createdAt: number) => digests({ createdTimestamp: new Date(createdAt).toISOString() });
