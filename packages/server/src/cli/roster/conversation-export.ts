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

/** How often the beginning of the list is read at most without finding another thread. */
const VAIN_READINGS_MAX = 3;

/**
 * Each thread that is there when the list is begun, once; their IDs are stored in memory. The list has the latest activity first,
 * so a thread in which someone writes moves ahead of the page that is read next. Therefore what has been active since a reading
 * was begun is read again, until that is one page, which has nothing new. Threads that are made meanwhile are left out, also
 * because their groups may be missing: a project in which many are made would be read without end.
 */
async function* threads(connection: ApiConnection): AsyncGenerator<Thread> {
  const known = new Set<string>();
  let begunAt: string | null = null;
  let since = '';
  for (let vain = 0; vain < VAIN_READINGS_MAX; ) {
    const before = known.size;
    let latest: string | null = null;
    let pages = 0;
    for await (const page of listPages(connection, '/v1/threads')) {
      const { threads: found } = page as ThreadList;
      pages += 1;
      latest ??= activityOf(found[0]);
      begunAt ??= latest;
      for (const thread of found) {
        if (known.has(thread.id) || thread.createdTimestamp > begunAt) continue;
        known.add(thread.id);
        yield thread;
      }
      if (activityOf(found.at(-1)) < since) break;
    }
    since = latest ?? '';
    vain = known.size > before ? 0 : vain + 1;
    if (vain > 0 && pages === 1) return;
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
