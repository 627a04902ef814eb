import { Readable } from 'node:stream';
import type { Message, MessageList, Thread, ThreadList } from '@rollcall/protocol';
import type { ApiConnection } from './api-connection.ts';
import { pathSegment } from './api-path.ts';
import type { MessageLine, ThreadLine } from './conversation-line.ts';
import { lineText, metadataOf } from './line-text.ts';
import { listPages } from './list-pages.ts';

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
    async (thread): Promise<Begun> => {
      const path = `/v1/threads/${pathSegment(thread.id)}/messages`;
      const pages = listPages(connection, path, 'thread_not_found');
      return { thread, pages, first: await pages.next() };
    },
    { concurrency },
  );
  for await (const { thread, pages, first } of begun as AsyncIterable<Begun>) {
    // The thread was deleted since it was listed.
    if (first.done === true) continue;
    counts.threads += 1;
    yield lineText({ type: 'thread', ...threadLine(thread) });
    for (let page: Begun['first'] = first; page.done !== true; page = await pages.next()) {
      const { messages } = page.value as MessageList;
      const shown = messages.filter(({ deletedTimestamp }) => deletedTimestamp === null);
      counts.messages += shown.length;
      counts.deletedMessages += messages.length - shown.length;
      if (shown.length > 0)
        yield shown.map((message) => lineText({ type: 'message', ...messageLine(message) })).join('');
    }
  }
}

/** A thread, and the pages of its messages, of which the first is read. */
interface Begun {
  readonly thread: Thread;
  readonly pages: ReturnType<typeof listPages>;
  readonly first: IteratorResult<unknown, void>;
}

/**
 * Each thread once; their IDs are stored in memory. The list has the latest activity first, so a thread in which someone writes
 * moves ahead of the page that is read next. Therefore what has been active since the list was begun is read again, until that
 * has nothing new.
 */
async function* threads(connection: ApiConnection): AsyncGenerator<Thread> {
  const known = new Set<string>();
  let [begunAt, before] = ['', -1];
  while (known.size > before) {
    const since = begunAt;
    before = known.size;
    begunAt = '';
    for await (const page of listPages(connection, '/v1/threads')) {
      const { threads: found } = page as ThreadList;
      begunAt ||= activityOf(found[0]);
      for (const thread of found) {
        if (known.has(thread.id)) continue;
        known.add(thread.id);
        yield thread;
      }
      if (activityOf(found.at(-1)) < since) break;
    }
  }
}

const activityOf = (thread: Thread | undefined): string =>
  thread?.lastMessageTimestamp ?? thread?.createdTimestamp ?? '';

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
