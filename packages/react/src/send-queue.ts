import type { ContentNode, RollcallClient, RollcallError, ViewerMessageCreation } from '@rollcall/client';
import { type LiveStore, retryDelayMs } from './live-store.ts';
import { type ThreadMessage, type ThreadState, textOf, withDraft, withOutcome } from './thread-state.ts';

/** A text becomes one paragraph. */
export type MessageContent = string | readonly ContentNode[];

type Messages = ReturnType<RollcallClient['threads']['messages']>;
type ThreadToCreate = NonNullable<ViewerMessageCreation['createThread']>;

/** An attempt that failed for a passing reason is repeated so often: for 15 to 30 seconds, which a restart of the server takes. */
const RETRIES = 5;
/** A longer `Retry-After` is not waited for: the message and those behind it could be neither retried nor discarded. */
const RETRY_AFTER_MAX_MS = 30_000;

export const nodesOf = (content: MessageContent): readonly ContentNode[] =>
  typeof content === 'string' ? [{ type: 'p', children: [{ text: content }] }] : content;

/**
 * Returns the functions that send messages which are shown already, one at a time, so that they arrive in the order in which they were
 * written. The message has its ID from here, so that an attempt can be repeated: a second one of the same ID is 409. Memory: the
 * messages that are being sent.
 */
export function sendQueue(
  messages: Messages,
  store: LiveStore<ThreadState>,
  threadID: string,
  viewerID: () => string,
) {
  const creations = new Map<string, { readonly createThread: ThreadToCreate }>();
  let latest: Promise<void> = Promise.resolve();

  const find = (id: string) => store.get().messages.find((message) => message.id === id);

  const enqueue = (draft: ThreadMessage) => {
    store.set((state) => withDraft(state, draft));
    latest = latest.then(() => deliver(draft));
  };

  const deliver = async ({ id, content }: ThreadMessage) => {
    const error = await attempt({ id, content, ...creations.get(id) });
    const outcome = { state: error === null ? 'sent' : 'failed', error } as const;
    store.set((state) => withOutcome(state, id, outcome));
    if (error !== null) return;
    creations.delete(id);
    // The thread was missing, or its reading can still find it missing, and the message has created it.
    if (store.get().thread === null) store.restart();
  };

  /** Returns the error of the last attempt, or null. */
  const attempt = async (creation: ViewerMessageCreation): Promise<RollcallError | null> => {
    for (let failures = 0; ; failures += 1) {
      try {
        await messages.create(creation);
        return null;
      } catch (reason) {
        const error = reason as RollcallError;
        // No other message has this ID: the response to an attempt before was lost, and the message had arrived.
        if (error.code === 'message_already_exists') return null;
        const { retryable, retryAfterMs = 0 } = error;
        if (!retryable || failures >= RETRIES || retryAfterMs > RETRY_AFTER_MAX_MS) return error;
        await new Promise((resolve) => setTimeout(resolve, retryDelayMs(failures, error)));
      }
    }
  };

  return {
    /** @param groupID where the thread is created unless it names a group */
    send(
      content: MessageContent,
      groupID: string | undefined,
      createThread: ThreadToCreate | undefined,
    ): string {
      const id = randomID();
      const nodes = nodesOf(content) as ContentNode[];
      // JSON leaves out what is undefined.
      if (createThread) creations.set(id, { createThread: { groupID, ...createThread } as ThreadToCreate });
      enqueue({
        id,
        threadID,
        groupID: store.get().thread?.groupID ?? '',
        authorID: viewerID(),
        type: 'user_message',
        content: nodes,
        plaintext: textOf(nodes),
        url: null,
        metadata: {},
        createdTimestamp: new Date().toISOString(),
        updatedTimestamp: null,
        deletedTimestamp: null,
        state: 'sending',
        error: null,
      });
      return id;
    },
    retry(id: string): void {
      const failed = find(id);
      if (failed?.state === 'failed') enqueue({ ...failed, state: 'sending', error: null });
    },
    discard(id: string): void {
      if (find(id)?.state !== 'failed') return;
      creations.delete(id);
      store.set((state) => withOutcome(state, id, null));
    },
  };
}

/** 128 random bits. `crypto.randomUUID` is missing on pages that were not loaded over https. */
const randomID = () => crypto.getRandomValues(new Uint32Array(4)).join('-');
