import { Readable } from 'node:stream';
import type { Message, MessageList, Thread, ThreadList } from '@rollcall/protocol';
import { type ApiConnection, errorOf, expectOk } from './api-connection.ts';
import { pagePath, pathSegment } from './api-path.ts';
import type { MessageLine, ThreadLine } from './conversation-line.ts';

/** How many threads, or messages, a page has at most; it also ends at 4 MiB. */
const PAGE = 1_000;

export interface ConversationCounts {
  threads: number;
  messages: number;
  /** Soft-deleted messages, which are left out: the API does not show what they say. */
  deletedMessages: number;
}

/**
 * All threads of a project as lines, each followed by its messages in their order.
 * @param concurrency of how many threads the first page of messages is read at once
 */
export async function* exportConversations(
  connection: ApiConnection,
  concurrency: number,
  counts: ConversationCounts,
): AsyncGenerator<string> {
  const begun = Readable.from(threads(connection)).map(
    async (thread) => ({ thread, first: await messagePage(connection, thread.id, null) }),
    { concurrency },
  );
  for await (const { thread, first } of begun as AsyncIterable<Begun>) {
    // The thread was deleted since it was listed.
    if (first === null) continue;
    counts.threads += 1;
    yield line('thread', threadLine(thread));
    for (let page: MessageList | null = first; page !== null; ) {
      const shown = page.messages.filter(({ deletedTimestamp }) => deletedTimestamp === null);
      counts.messages += shown.length;
      counts.deletedMessages += page.messages.length - shown.length;
      if (shown.length > 0) yield shown.map((message) => line('message', messageLine(message))).join('');
      const next: string | null = page.pagination.token;
      page = next === null ? null : await messagePage(connection, thread.id, next);
    }
  }
}

interface Begun {
  readonly thread: Thread;
  readonly first: MessageList | null;
}

async function* threads(connection: ApiConnection): AsyncGenerator<Thread> {
  let token: string | null = null;
  do {
    const answer = expectOk(await connection.request('GET', pagePath('/v1/threads', PAGE, token)));
    const page = answer.json as ThreadList;
    yield* page.threads;
    token = page.pagination.token;
  } while (token !== null);
}

/** Null where the thread is not there any more. */
async function messagePage(
  connection: ApiConnection,
  thread: string,
  token: string | null,
): Promise<MessageList | null> {
  const path = pagePath(`/v1/threads/${pathSegment(thread)}/messages`, PAGE, token);
  const answer = await connection.request('GET', path);
  if (errorOf(answer.json).error === 'thread_not_found') return null;
  return expectOk(answer).json as MessageList;
}

function threadLine(thread: Thread): ThreadLine {
  const { id, groupID, name, url, location, metadata, createdTimestamp, resolvedTimestamp } = thread;
  return {
    ...{ id, groupID, name },
    ...(url !== null && { url }),
    ...(location !== null && { location }),
    ...metadataOf(metadata),
    createdTimestamp,
    ...(resolvedTimestamp !== null && { resolvedTimestamp }),
  };
}

function messageLine(message: Message): MessageLine {
  const { id, threadID, authorID, type, content, url, metadata, createdTimestamp, updatedTimestamp } =
    message;
  return {
    ...{ threadID, id, authorID, content },
    ...(type !== 'user_message' && { messageType: type }),
    ...(url !== null && { url }),
    ...metadataOf(metadata),
    createdTimestamp,
    ...(updatedTimestamp !== null && { updatedTimestamp }),
  };
}

const metadataOf = (metadata: Record<string, unknown>) =>
  Object.keys(metadata).length === 0 ? {} : { metadata };

const line = (type: string, fields: object) => `${JSON.stringify({ type, ...fields })}\n`;
