/** The operations of threads and messages that are measured, over all threads of a store in scattered order. */
import {
  authorsIn,
  groupOf,
  messageId,
  THREADS_PER_GROUP,
  type Threads,
  threadId,
} from './conversation-dataset.ts';
import { groupId, groupMembers, randomNumbers, SMALL } from './dataset.ts';
import { type Address, read, requestText, send } from './http.ts';
import { requestsOf } from './operations.ts';

/** A page of messages; one of threads is as long as the list of a small store's group. */
const PAGE_MESSAGES = 20;
const WALK_LIMIT = 100;
/** Threads whose deep pages are read. */
const DEEP_THREADS = 200;
const REQUESTS = 60_000;
/** Messages of each size that texts are appended to, each in a thread of its own. */
const APPENDED_MESSAGES = 500;
const APPENDED_TEXT = ' and on';
const SENT_AT_ONCE = 16;

/** The parameters of the requests: a running server, its token, and the threads of its store. */
export interface Filled {
  readonly server: Address;
  readonly token: string;
  readonly threads: Threads;
  /** Whose pages are read from the middle on. */
  readonly deep: Threads;
}

/** The requests of one operation, in the order in which they are sent. */
export interface ConversationOperation {
  readonly name: string;
  readonly isRead: boolean;
  requests(filled: Filled): string[] | Promise<string[]>;
}

const get = (path: string, token: string) => requestText('GET', path, token);

/** For random threads. */
function forThreads({ threads }: Filled, request: (index: number) => string): string[] {
  const numbers = randomNumbers(threads.threads, 7);
  return Array.from({ length: REQUESTS }, () => request(numbers.next().value));
}

/** Pages of random threads' messages, by the page's query. */
const firstPages = (filled: Filled, order: string) =>
  forThreads(filled, (index) => {
    const path = `/v1/threads/${threadId(filled.threads, index)}/messages`;
    return get(`${path}?limit=${PAGE_MESSAGES}&order=${order}`, filled.token);
  });

/** The tokens of pages of a list that is walked in long steps. */
async function tokensOf({ server, token }: Filled, path: string, limit: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page: string = next === '' ? '' : `&token=${encodeURIComponent(next)}`;
    const { pagination } = await read<{ pagination: { token: string | null } }>(
      server,
      token,
      `${path}limit=${limit}${page}`,
    );
    next = pagination.token;
    if (next !== null) tokens.push(next);
  }
  return tokens;
}

/** Pages far from the beginning of the list; where it is short, the last ones. */
async function deepPages(filled: Filled, paths: readonly string[], limit: number): Promise<string[]> {
  const requests: string[] = [];
  for (const path of paths) {
    const far = await tokensOf(filled, path, WALK_LIMIT);
    // A page after the last one of a walk may be short.
    const tokens = far.length > 1 ? far.slice(0, -1) : await tokensOf(filled, path, limit);
    const full = far.length > 1 ? tokens : tokens.slice(0, 1);
    for (const each of full)
      requests.push(get(`${path}limit=${limit}&token=${encodeURIComponent(each)}`, filled.token));
  }
  if (requests.length === 0) throw new Error('no list has a second page: give more --threads and --messages');
  const numbers = randomNumbers(requests.length, 7);
  return Array.from({ length: REQUESTS }, () => requests[numbers.next().value] as string);
}

const deepMessages = (filled: Filled, order: string) =>
  deepPages(
    filled,
    Array.from(
      { length: Math.min(DEEP_THREADS, filled.deep.threads) },
      (_, index) => `/v1/threads/${threadId(filled.deep, index)}/messages?order=${order}&`,
    ),
    PAGE_MESSAGES,
  );

/** Content of one paragraph. */
const paragraph = (text: string) => [{ type: 'p', children: [{ text }] }];

export const postMessage = ({ threads, token }: Filled, index: number, text: string): string => {
  const authorID = authorsIn(threads, index)[0];
  const path = `/v1/threads/${threadId(threads, index)}/messages`;
  return requestText('POST', path, token, { authorID, content: paragraph(text) });
};

const appendedThread = (size: string, index: number) => `append-${size}-${index}`;

/** Appends to the messages that {@link addAppendable} made. */
export const appends = (size: keyof typeof SIZES, { token }: Filled): string[] =>
  Array.from({ length: REQUESTS }, (_, step) => {
    const path = `/v1/threads/${appendedThread(size, step % APPENDED_MESSAGES)}/messages/m/append`;
    return requestText('POST', path, token, { text: APPENDED_TEXT });
  });

const KIBIBYTE = 1_024;
const SIZES = { small: KIBIBYTE, large: 100 * KIBIBYTE } as const;

/** Makes the messages that texts are appended to. */
export async function addAppendable({ server, token }: Pick<Filled, 'server' | 'token'>): Promise<void> {
  for (const [size, bytes] of Object.entries(SIZES)) {
    for (let first = 0; first < APPENDED_MESSAGES; first += SENT_AT_ONCE) {
      const post = (offset: number) => addMessage({ server, token }, first + offset, size, bytes);
      const length = Math.min(SENT_AT_ONCE, APPENDED_MESSAGES - first);
      await Promise.all(Array.from({ length }, (_, offset) => post(offset)));
    }
  }
}

function addMessage(
  { server, token }: Pick<Filled, 'server' | 'token'>,
  index: number,
  size: string,
  bytes: number,
): Promise<void> {
  const [group, authorID] = [groupId(index), groupMembers(SMALL, index)[0]];
  const content = [{ type: 'markdown', children: [{ text: 'x'.repeat(bytes) }] }];
  const createThread = { groupID: group, name: 'Answers of an assistant' };
  const path = `/v1/threads/${appendedThread(size, index)}/messages`;
  return send(server, token, 'POST', path, { id: 'm', authorID, content, createThread });
}

export const GROUP_NAME = 'PUT group name';
export const groupNames = ({ token }: Filled): string[] => requestsOf(GROUP_NAME, token);

export const CONVERSATION_OPERATIONS: readonly ConversationOperation[] = [
  {
    name: 'GET thread',
    isRead: true,
    requests: (filled) =>
      forThreads(filled, (index) => get(`/v1/threads/${threadId(filled.threads, index)}`, filled.token)),
  },
  {
    name: 'GET message',
    isRead: true,
    requests: (filled) => {
      const numbers = randomNumbers(filled.threads.messagesPerThread, 11);
      return forThreads(filled, (index) => {
        const thread = threadId(filled.threads, index);
        const message = messageId(thread, numbers.next().value + 1);
        return get(`/v1/threads/${thread}/messages/${message}`, filled.token);
      });
    },
  },
  {
    name: "list a group's threads",
    isRead: true,
    requests: (filled) =>
      forThreads(filled, (index) =>
        get(`/v1/threads?groupID=${groupOf(filled.threads, index)}&limit=${THREADS_PER_GROUP}`, filled.token),
      ),
  },
  {
    name: "list the project's threads, a deep page",
    isRead: true,
    requests: (filled) => deepPages(filled, ['/v1/threads?'], THREADS_PER_GROUP),
  },
  {
    name: 'list messages, oldest first',
    isRead: true,
    requests: (filled) => firstPages(filled, 'ascending'),
  },
  {
    name: 'list messages, newest first',
    isRead: true,
    requests: (filled) => firstPages(filled, 'descending'),
  },
  {
    name: 'list messages, oldest first, a deep page',
    isRead: true,
    requests: (filled) => deepMessages(filled, 'ascending'),
  },
  {
    name: 'list messages, newest first, a deep page',
    isRead: true,
    requests: (filled) => deepMessages(filled, 'descending'),
  },
  {
    name: GROUP_NAME,
    isRead: false,
    requests: groupNames,
  },
  {
    name: 'POST message',
    isRead: false,
    requests: (filled) =>
      forThreads(filled, (index) =>
        postMessage(filled, index, 'A message of some forty characters, or more.'),
      ),
  },
];
