import type { Message, Thread } from '@rollcall/protocol';
import { type ApiAnswer, type ApiConnection, ApiError, errorOf } from './api-connection.ts';
import { pathSegment } from './api-path.ts';
import { comparable } from './comparable.ts';
import type { ConversationEntry, MessageLine, ThreadLine } from './conversation-line.ts';

/** The outcome of a line, or in a dry run the expected one. */
export type LineOutcome = 'created' | 'updated' | 'unchanged' | { readonly rejected: string };

export type SubmitConversation = (entry: ConversationEntry) => Promise<LineOutcome>;

/** A line as requests: where it is, how it is created, and what an update of it writes. */
interface Requests {
  readonly list: string;
  readonly path: string;
  readonly creation: object;
  readonly update: object;
  /** Whether what is there is as the update would leave it. */
  matches(found: unknown): boolean;
}

const requestsOf = (entry: ConversationEntry): Requests =>
  entry.kind === 'thread' ? threadRequests(entry.item) : messageRequests(entry.item);

export function threadRequests(item: ThreadLine): Requests {
  const { id, resolvedTimestamp, ...fields } = item;
  const update = { ...fields, ...(resolvedTimestamp !== undefined && { resolved: true }) };
  return {
    list: '/v1/threads',
    path: `/v1/threads/${pathSegment(id)}`,
    creation: item,
    update,
    matches: (found) => hasFields(found as Thread, update),
  };
}

export function messageRequests(item: MessageLine): Requests {
  const { threadID, messageType, ...creation } = item;
  const { id, updatedTimestamp: _, deletedTimestamp, ...fields } = creation;
  const type = messageType === undefined ? {} : { type: messageType };
  const update = { ...fields, ...type, ...(deletedTimestamp !== undefined && { deleted: true }) };
  const list = `/v1/threads/${pathSegment(threadID)}/messages`;
  return {
    list,
    path: `${list}/${pathSegment(id)}`,
    creation: { ...creation, ...type },
    update,
    // A deleted message shows neither content nor metadata.
    matches: (found) => (found as Message).deletedTimestamp === null && hasFields(found as Message, update),
  };
}

const hasFields = (found: object, fields: object) =>
  Object.entries(fields).every(
    ([name, value]) => comparable(name, (found as Record<string, unknown>)[name]) === comparable(name, value),
  );

/** Applies one line: creates what is not there, and otherwise changes what differs. */
export const applyConversation =
  (connection: ApiConnection): SubmitConversation =>
  async (entry) => {
    const { list, path, creation, update, matches } = requestsOf(entry);
    const created = await connection.request('POST', list, JSON.stringify(creation));
    if (created.status === 201) return 'created';
    const reason = rejectionOf(created);
    const found = await connection.request('GET', path);
    // An existing item can lack something that a creation needs, such as a mentioned user.
    if (found.status !== 200) return { rejected: reason };
    if (matches(found.json)) return 'unchanged';
    const updated = await connection.request('PUT', path, JSON.stringify(update));
    if (updated.status !== 200) return { rejected: rejectionOf(updated) };
    const after = await connection.request('GET', path);
    return after.headers.etag === found.headers.etag ? 'unchanged' : 'updated';
  };

/** The error codes that are about the content of a line. */
const LINE_ERRORS = new Set([
  ...['unexpected_field', 'missing_field', 'invalid_field', 'user_not_found', 'group_not_found'],
  ...['thread_not_found', 'thread_already_exists', 'message_not_found', 'message_already_exists'],
]);

/** @throws ApiError where the answer is about something else */
function rejectionOf({ status, json }: ApiAnswer): string {
  const { error, message } = errorOf(json);
  if (LINE_ERRORS.has(error) || status === 413) return `${error}: ${message}`;
  throw new ApiError(`the server answers ${status} ${error}: ${message}`);
}
