/** The state of a thread after events in an order that depends on the network. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContentNode, Message } from '@rollcall/client';
import { plaintextOf } from '../../protocol/src/index.ts';
import {
  type ThreadMessage,
  type ThreadState,
  textOf,
  threadAfter,
  UNREAD_THREAD,
  withDraft,
  withOlder,
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

/** A message to which texts can be appended. */
const markdown = (text: string): Message => ({
  ...message('m', 1),
  content: [{ type: 'markdown', children: [{ text }] }],
  plaintext: text,
});

/** A paragraph with a mention and a link, and blocks around and in blocks. */
const CONTENT: ContentNode[] = [
  { text: 'Dear ' },
  { type: 'mention', user: { id: 'bob' }, children: [{ text: '@Bob' }] },
  { text: ',' },
  {
    type: 'p',
    children: [
      { text: 'see ' },
      {
        type: 'link',
        url: 'https://example.com',
        children: [{ text: 'this', bold: true }, { text: ' page' }],
      },
      { text: '.' },
    ],
  },
  { type: 'quote', children: [{ text: '' }, { type: 'code', children: [{ text: 'a' }] }, { text: 'b' }] },
  { text: 'Ada' },
];

describe('the messages of a thread', () => {
  test('the text of a message that is being sent is the plaintext that the server gives to its content', () => {
    for (const nodes of [CONTENT, CONTENT.toReversed(), ...CONTENT.map((node) => [node]), []])
      assert.equal(textOf(nodes), plaintextOf(nodes));
  });

  for (const read of ['one', 'one ', 'one tw🦊', 'one tw🦊 three']) {
    test(`texts that are appended while a page is loaded are in it once, where it was read at "${read}"`, () => {
      const loading: ThreadState = { ...UNREAD_THREAD, token: 'token', missed: [] };
      const after = [
        { type: 'appended', id: 'm', text: ' ', length: 4 },
        { type: 'appended', id: 'm', text: 'tw🦊', length: 7 },
        { type: 'appended', id: 'm', text: ' three', length: 13 },
      ] as const;
      const loaded = withOlder(after.reduce(threadAfter, loading), [markdown(read)], null);
      assert.deepEqual(
        loaded.messages.map(({ plaintext, content }) => [plaintext, content]),
        [['one tw🦊 three', markdown('one tw🦊 three').content]],
      );
    });
  }

  test('a page of older messages sets their order, and is followed by newer ones and drafts', () => {
    const [first, second, third] = [message('first', 1), message('second', 1), message('third', 1)];
    const state = withDraft({ ...UNREAD_THREAD, token: 'token', missed: [] }, draft('mine', 0));
    const shown = threadAfter(threadAfter(state, { type: 'message', message: third }), {
      type: 'message',
      message: first,
    });
    const loaded = withOlder(shown, [second, first], null);
    assert.deepEqual(idsOf(loaded), ['first sent', 'second sent', 'third sent', 'mine sending']);
  });

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
