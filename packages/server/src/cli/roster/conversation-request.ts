import { isDeepStrictEqual } from 'node:util';
import type { Message, Thread } from '@rollcall/protocol';
import { type ApiAnswer, type ApiConnection, ApiError, errorOf } from './api-connection.ts';
import { pathSegment } from './api-path.ts';
import { type ConversationEntry, type MessageLine, type ThreadLine, usersOf } from './conversation-line.ts';
import type { KnownIds } from './known-ids.ts';

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
  /** A field that never changes, and has another value there. */
  fixed(found: unknown): string | undefined;
}

const requestsOf = (entry: ConversationEntry): Requests =>
  entry.kind === 'thread' ? threadRequests(entry.item) : messageRequests(entry.item);

function threadRequests(item: ThreadLine): Requests {
  const { id, resolvedTimestamp, ...fields } = item;
  const update = { ...fields, ...(resolvedTimestamp !== undefined && { resolved: true }) };
  return {
    list: '/v1/threads',
    path: `/v1/threads/${pathSegment(id)}`,
    creation: item,
    update,
    matches: (found) => hasFields(found as Thread, update),
    fixed: (found) => otherOf(found as Thread, item, ['groupID', 'createdTimestamp']),
  };
}

function messageRequests(item: MessageLine): Requests {
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
    fixed: (found) => otherOf(found as Message, item, ['authorID', 'createdTimestamp']),
  };
}

const hasFields = (found: object, fields: object) =>
  Object.entries(fields).every(([name, value]) => isSame(name, (found as Fields)[name], value));

type Fields = Readonly<Record<string, unknown>>;

const isSame = (name: string, found: unknown, given: unknown) =>
  name.endsWith('Timestamp')
    ? Date.parse(String(found)) === Date.parse(String(given))
    : isDeepStrictEqual(found, given === '' ? null : given);

const otherOf = (found: object, item: object, names: readonly string[]) =>
  names.find((name) => {
    const given = (item as Fields)[name];
    return given !== undefined && !isSame(name, (found as Fields)[name], given);
  });

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

/** Checks one line without writing: what it names is an earlier line, or is there. */
export const checkConversation =
  (connection: ApiConnection, known: KnownIds): SubmitConversation =>
  async (entry) => {
    const { path, matches, fixed } = requestsOf(entry);
    const found = await connection.request('GET', path);
    if (found.status === 200) {
      const field = fixed(found.json);
      if (field !== undefined) return { rejected: `invalid_field: ${field} never changes` };
      return matches(found.json) ? 'unchanged' : 'updated';
    }
    rejectionOf(found);
    const missing = await missingOf(connection, known, entry);
    if (missing !== null) return { rejected: missing };
    if (entry.kind === 'thread') known.threads.add(entry.item.id);
    return 'created';
  };

async function missingOf(
  connection: ApiConnection,
  known: KnownIds,
  entry: ConversationEntry,
): Promise<string | null> {
  const isThere = async (kind: keyof KnownIds, id: string) => {
    if (known[kind].has(id)) return true;
    const { status } = await connection.request('GET', `/v1/${kind}/${pathSegment(id)}`);
    if (status === 200) known[kind].add(id);
    return status === 200;
  };
  if (entry.kind === 'thread') {
    const { groupID } = entry.item;
    return (await isThere('groups', groupID)) ? null : `group_not_found: group ${groupID} does not exist`;
  }
  const { threadID } = entry.item;
  if (!(await isThere('threads', threadID))) return `thread_not_found: thread ${threadID} does not exist`;
  for (const user of usersOf(entry.item)) {
    if (!(await isThere('users', user))) return `user_not_found: user ${user} does not exist`;
  }
  return null;
}

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
