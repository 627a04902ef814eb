/** The state of a thread after events in an order that depends on the network. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Message } from '@rollcall/client';
import {
  type ThreadMessage,
  type ThreadState,
  threadAfter,
  UNREAD_THREAD,
  withDraft,
  withOutcome,
} from '../src/thread-state.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000).toISOString();

const message = (id: string, seconds: number): Message => ({
  id,
  threadID: 't',
  groupID: 'g',
  authorID: 'ada',
  type: 'user_message',
  content: [],
  plaintext: id,
  url: null,
  metadata: {},
  createdTimestamp: at(seconds),
  updatedTimestamp: null,
  deletedTimestamp: null,
});

const draft = (id: string, seconds: number): ThreadMessage => ({
  ...message(id, seconds),
  state: 'sending',
  error: null,
});
const SENT = { state: 'sent', error: null } as const;
const written = (state: ThreadState, id: string, seconds: number) =>
  threadAfter(state, { type: 'message', message: message(id, seconds) });
const idsOf = ({ messages }: ThreadState) => messages.map(({ id, state }) => `${id} ${state}`);

describe('the messages of a thread', () => {
  for (const clock of [-3_600, 3_600]) {
    test(`messages are in the order of createdTimestamp, also for a page whose clock is ${clock} seconds off`, () => {
      const sending = withDraft(UNREAD_THREAD, draft('mine', 10 + clock));
      // The answer comes first, then the stream has a message of before, and then this one.
      const answered = withOutcome(sending, 'mine', SENT);
      const after = written(written(answered, 'theirs', 9), 'mine', 10);
      assert.deepEqual(idsOf(after), ['theirs sent', 'mine sent']);
      // The stream comes first.
      const streamed = withOutcome(written(written(sending, 'theirs', 9), 'mine', 10), 'mine', SENT);
      assert.deepEqual(idsOf(streamed), ['theirs sent', 'mine sent']);
    });
  }
});
