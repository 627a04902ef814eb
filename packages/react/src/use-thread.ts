import type {
  ContentNode,
  RollcallClient,
  RollcallError,
  ViewerMessageCreation,
  ViewerThread,
} from '@rollcall/client';
import { useCallback, useMemo } from 'react';
import { storeOf } from './client-stores.ts';
import type { LiveStore } from './live-store.ts';
import { pageLoader } from './page-loader.ts';
import { useProvided } from './rollcall-provider.ts';
import { type MessageContent, nodesOf, sendQueue } from './send-queue.ts';
import {
  isUnsent,
  type ThreadMessage,
  type ThreadState,
  threadAfter,
  UNREAD_THREAD,
  withOlder,
  withoutThread,
} from './thread-state.ts';
import { all, useStore } from './use-store.ts';
import { useViewerID, viewerIDOf } from './use-viewer.ts';

/** The thread to create when the first message is sent to it. */
export type ThreadToCreate = NonNullable<ViewerMessageCreation['createThread']>;

/** A thread: its messages as they are written, and what the viewer can do. Methods reject with a RollcallError. */
export interface UseThread {
  /** `unread` and the counts are those of when it was read; they are live in `useThreads`. */
  readonly thread: ViewerThread | null;
  readonly messages: readonly ThreadMessage[];
  readonly isLoading: boolean;
  readonly error: RollcallError | null;
  readonly hasOlder: boolean;
  /** Loads 50 older messages. */
  loadOlder(): Promise<void>;
  /**
   * Shows the message at once, and sends it; it does not reject. With `createThread` the thread is created when it is
   * missing, in the provider's group unless it names another. Returns the ID of the message.
   */
  send(content: MessageContent, options?: { readonly createThread?: ThreadToCreate | undefined }): string;
  /** Sends a message again that failed. */
  retry(messageID: string): void;
  /** Removes a message that failed. */
  discard(messageID: string): void;
  /** Changes a message of the viewer. */
  edit(messageID: string, content: MessageContent): Promise<void>;
  /** Hides a message of the viewer; false brings it back. */
  setDeleted(messageID: string, deleted: boolean): Promise<void>;
  setResolved(resolved: boolean): Promise<void>;
  /** The viewer has seen everything, or everything up to a message. */
  markSeen(messageID?: string): Promise<void>;
}

const OLDER_LIMIT = 50;

const threadStore = (client: RollcallClient, id: string): LiveStore<ThreadState> =>
  storeOf<ThreadState>(
    client,
    ['thread', id],
    UNREAD_THREAD,
    async (set, signal) => {
      try {
        for await (const event of client.threads.messages(id).watch({ signal })) {
          set((state) => threadAfter(state, event));
        }
      } catch (error) {
        set((state) => withoutThread(state, error as RollcallError));
      }
    },
    // The user has not seen yet that a message failed, or can still retry it.
    ({ messages }) => messages.some(isUnsent),
  );

/** A thread with its messages, live. */
export function useThread(threadID: string): UseThread {
  const { client, groupID } = useProvided();
  // Drafts have the viewer as their author.
  useViewerID();
  const store = threadStore(client, threadID);
  const state = useStore(store, all);
  const actions = store.actions(() => threadActions(client, store, threadID));
  const send = useCallback<UseThread['send']>(
    (content, { createThread } = {}) => actions.send(content, groupID, createThread),
    [actions, groupID],
  );
  return useMemo(() => {
    const { token, missed: _, ...shown } = state;
    return { ...shown, hasOlder: token !== null, ...actions, send };
  }, [state, actions, send]);
}

function threadActions(client: RollcallClient, store: LiveStore<ThreadState>, threadID: string) {
  const messages = client.threads.messages(threadID);
  return {
    loadOlder: pageLoader(store, messages.list({ order: 'descending' }), OLDER_LIMIT, withOlder),
    ...sendQueue(messages, store, threadID, () => viewerIDOf(client) ?? ''),
    edit: async (id: string, content: MessageContent) => {
      await messages.put(id, { content: nodesOf(content) as ContentNode[] });
    },
    setDeleted: async (id: string, deleted: boolean) => {
      await messages.put(id, { deleted });
    },
    setResolved: async (resolved: boolean) => {
      await client.threads.put(threadID, { resolved });
    },
    markSeen: async (messageID?: string) => {
      await client.threads.markSeen(threadID, messageID === undefined ? {} : { messageID });
    },
  };
}
