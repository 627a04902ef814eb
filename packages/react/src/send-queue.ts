import type { ContentNode, RollcallClient, RollcallError, ViewerMessageCreation } from '@rollcall/client';
import type { LiveStore } from './live-store.ts';
import { retryDelayMs } from './retry-delay.ts';
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
 * Sends messages that are shown already, one at a time, so that they arrive in the order in which they were written. The
 * message has its ID from here, so that an attempt can be repeated: a second one of the same ID is 409. Memory: the messages
 * that are being sent.
 */
export class SendQueue {
  readonly #messages: Messages;
  readonly #store: LiveStore<ThreadState>;
  readonly #threadID: string;
  readonly #viewerID: () => string;
  readonly #creations = new Map<string, { readonly createThread: ThreadToCreate }>();
  #latest: Promise<void> = Promise.resolve();

  constructor(messages: Messages, store: LiveStore<ThreadState>, threadID: string, viewerID: () => string) {
    this.#messages = messages;
    this.#store = store;
    this.#threadID = threadID;
    this.#viewerID = viewerID;
  }

  /** @param groupID where the thread is created unless it names a group */
  send = (
    content: MessageContent,
    groupID: string | undefined,
    createThread: ThreadToCreate | undefined,
  ): string => {
    const id = randomID();
    const nodes = nodesOf(content) as ContentNode[];
    const draft: ThreadMessage = {
      id,
      threadID: this.#threadID,
      groupID: this.#store.get().thread?.groupID ?? '',
      authorID: this.#viewerID(),
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
    };
    // JSON leaves out what is undefined.
    if (createThread)
      this.#creations.set(id, { createThread: { groupID, ...createThread } as ThreadToCreate });
    this.#enqueue(draft);
    return id;
  };

  retry = (id: string): void => {
    const failed = this.#find(id);
    if (failed?.state === 'failed') this.#enqueue({ ...failed, state: 'sending', error: null });
  };

  discard = (id: string): void => {
    if (this.#find(id)?.state !== 'failed') return;
    this.#creations.delete(id);
    this.#store.set((state) => withOutcome(state, id, null));
  };

  #find(id: string): ThreadMessage | undefined {
    return this.#store.get().messages.find((message) => message.id === id);
  }

  #enqueue(draft: ThreadMessage): void {
    this.#store.set((state) => withDraft(state, draft));
    this.#latest = this.#latest.then(() => this.#deliver(draft));
  }

  async #deliver({ id, content }: ThreadMessage): Promise<void> {
    const error = await this.#attempt({ id, content, ...this.#creations.get(id) });
    const outcome = { state: error === null ? 'sent' : 'failed', error } as const;
    this.#store.set((state) => withOutcome(state, id, outcome));
    if (error !== null) return;
    this.#creations.delete(id);
    // The thread was missing, or its reading can still find it missing, and the message has created it.
    if (this.#store.get().thread === null) this.#store.restart();
  }

  /** Returns the error of the last attempt, or null. */
  async #attempt(creation: ViewerMessageCreation): Promise<RollcallError | null> {
    for (let failures = 0; ; failures += 1) {
      try {
        await this.#messages.create(creation);
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
  }
}

/** 128 random bits. `crypto.randomUUID` is missing on pages that were not loaded over https. */
const randomID = () => crypto.getRandomValues(new Uint32Array(4)).join('-');
