import type { ContentNode, Message, MessagesEvent, RollcallError, ViewerThread } from '@rollcall/client';
import { type PagedState, recorded } from './page-loader.ts';

/** A message, and whether the server has it. */
export interface ThreadMessage extends Message {
  /** `sent`: the server has it. `sending`: on its way. `failed`: see `error`; send it again with `retry(id)`. */
  readonly state: 'sent' | 'sending' | 'failed';
  readonly error: RollcallError | null;
}

/** A thread with its newest messages, and the older ones that were loaded: the pages go back in time. */
export interface ThreadState extends PagedState<MessagesEvent<ViewerThread>> {
  /** Null until it is read, and when it does not exist. */
  readonly thread: ViewerThread | null;
  /** The oldest first; what is being sent is last. */
  readonly messages: readonly ThreadMessage[];
}

export const UNREAD_THREAD: ThreadState = {
  thread: null,
  messages: [],
  isLoading: true,
  error: null,
  token: null,
  missed: null,
};

const sent = (message: Message): ThreadMessage => ({ ...message, state: 'sent', error: null });
export const isUnsent = ({ state }: ThreadMessage) => state !== 'sent';

/** The state after an event of the stream. A pure function; unchanged messages are the same objects. */
export function threadAfter(state: ThreadState, event: MessagesEvent<ViewerThread>): ThreadState {
  return recorded(stateAfter(state, event), event);
}

/** The state when the thread cannot be watched any more: it has what was not sent, which the user may send again. */
export const withoutThread = ({ messages }: ThreadState, error: RollcallError): ThreadState => ({
  ...UNREAD_THREAD,
  messages: messages.filter(isUnsent),
  isLoading: false,
  error,
});

function stateAfter(state: ThreadState, event: MessagesEvent<ViewerThread>): ThreadState {
  switch (event.type) {
    case 'snapshot': {
      const ids = new Set(event.messages.map(({ id }) => id));
      const unsent = state.messages.filter((message) => isUnsent(message) && !ids.has(message.id));
      // A page that was requested before does not follow it.
      return {
        ...UNREAD_THREAD,
        thread: event.thread,
        messages: [...event.messages.map(sent), ...unsent],
        isLoading: false,
        token: event.pagination.token,
      };
    }
    case 'thread':
      return { ...state, thread: event.thread };
    case 'removed':
      return { ...state, messages: state.messages.filter(({ id }) => id !== event.id) };
    case 'message':
      return { ...state, messages: withMessage(state, event.message) };
    case 'appended':
      return {
        ...state,
        messages: state.messages.map((message) =>
          message.id === event.id ? appended(message, event.text, event.length) : message,
        ),
      };
  }
}

/** The messages with a new or changed one. One that is older than all that are loaded is loaded with its page. */
function withMessage({ messages, token }: ThreadState, message: Message): readonly ThreadMessage[] {
  const index = messages.findIndex(
    // A message that was just sent has the time of this machine until here.
    ({ id, createdTimestamp }) => id === message.id && createdTimestamp === message.createdTimestamp,
  );
  if (index !== -1) return messages.with(index, sent(message));
  const others = messages.filter(({ id }) => id !== message.id);
  const oldest = others.find((other) => !isUnsent(other));
  const isOlder = oldest !== undefined && message.createdTimestamp < oldest.createdTimestamp;
  if (isOlder && token !== null) return others;
  const after = others.findLastIndex(
    (other) => !isUnsent(other) && other.createdTimestamp <= message.createdTimestamp,
  );
  return others.toSpliced(after + 1, 0, sent(message));
}

/**
 * The text goes to the end of the only node's only text: only such messages are appended to. A message that was read meanwhile
 * may have it already, or its beginning: `length` is that of all of the text, in code points.
 */
function appended(message: ThreadMessage, text: string, length: number): ThreadMessage {
  const [node] = message.content;
  if (node === undefined || !('children' in node)) return message;
  const [child] = node.children;
  const before = child !== undefined && 'text' in child ? child.text : '';
  const extra = [...before, ...text].length - length;
  const missing = [...text].slice(Math.max(0, extra)).join('');
  const content = [{ ...node, children: [{ text: before + missing }] }] as ContentNode[];
  return { ...message, content, plaintext: message.plaintext + missing };
}

/** The state with a page of older messages, the newest of them first, and with what has changed since it was requested. */
export function withOlder(state: ThreadState, items: readonly Message[], token: string | null): ThreadState {
  const ids = new Set(items.map(({ id }) => id));
  const newer = state.messages.filter(({ id }) => !ids.has(id));
  const messages = [...items.map(sent).reverse(), ...newer];
  return (state.missed ?? []).reduce(stateAfter, { ...state, messages, token, missed: null });
}

/** The state with a message that is being sent, at the end. */
export function withDraft(state: ThreadState, draft: ThreadMessage): ThreadState {
  return { ...state, messages: [...state.messages.filter(({ id }) => id !== draft.id), draft] };
}

/** The state after an attempt to send a draft. What the stream has confirmed meanwhile stays. */
export function withOutcome(
  state: ThreadState,
  id: string,
  outcome: Pick<ThreadMessage, 'state' | 'error'> | null,
): ThreadState {
  const messages = state.messages.flatMap((message) => {
    if (message.id !== id || !isUnsent(message)) return [message];
    return outcome === null ? [] : [{ ...message, ...outcome }];
  });
  return { ...state, messages };
}

const isInline = (node: ContentNode) => 'text' in node || /link|mention|assignee/.test(node.type);

/** The text of content as the server's `plaintext` has it: with a line feed beside each node that is no part of a line. */
export const textOf = (nodes: readonly ContentNode[]): string =>
  nodes.reduce((text, node, index) => {
    const isSameLine = index === 0 || (isInline(nodes[index - 1] as ContentNode) && isInline(node));
    const part = 'text' in node ? node.text : textOf(node.children as ContentNode[]);
    return text + (isSameLine ? part : `\n${part}`);
  }, '');
