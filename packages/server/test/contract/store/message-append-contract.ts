/** Texts that are appended to a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { appended, Conversation, type Given, markdown, plain, SHUT, STALE, textOf } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function messageAppendContract(lab: StoreLab): void {
  /** A thread with the markdown message `m`. */
  const withMessage = async (text = 'Hello') => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm', { content: markdown(text) }, { revision: 'made' });
    return c;
  };
  const text = async (c: Conversation) => textOf((await c.message('t', 'm')).content);

  test('a text is added at the end, and the answer has the length in code points', async () => {
    const c = await withMessage('a\u{1f600}');
    const outcome = await c.append('t', 'm', appended('"\\\n\u{1f601}'), { revision: 'next' });
    assert.ok(outcome.kind === 'appended');
    assert.equal(outcome.length, 6);
    assert.equal(await text(c), 'a\u{1f600}"\\\n\u{1f601}');
    assert.equal((await c.message('t', 'm')).revision, 'next');
  });

  test('an append changes neither the time of the last change nor the thread', async () => {
    const c = await withMessage();
    const thread = await c.thread('t');
    const { content: _, revision: __, ...before } = await c.message('t', 'm');
    await c.append('t', 'm', appended(' world'), { now: START + 1_000_000, revision: 'next' });
    const { content, revision, ...after } = await c.message('t', 'm');
    assert.deepEqual(after, before);
    assert.deepEqual([textOf(content), revision], ['Hello world', 'next']);
    assert.deepEqual(await c.thread('t'), thread);
  });

  test('an empty text changes nothing, not even the revision', async () => {
    const c = await withMessage();
    const before = await c.message('t', 'm');
    const outcome = await c.append('t', 'm', appended(''), { revision: 'next' });
    assert.deepEqual(outcome, { kind: 'appended', length: 5, revision: before.revision, changes: [] });
    assert.deepEqual(await c.message('t', 'm'), before);
    assert.equal((await c.append('t', 'm', appended(''), { ifMatch: ['next'] })).kind, 'stale');
    assert.deepEqual(await c.recorded(), ['thread.created g t', 'message.created g t m']);
  });

  test('a thousand appends of eight callers all arrive, each whole and after what its caller appended before', async () => {
    const c = await withMessage('');
    const CALLERS = 8;
    const EACH = 125;
    await Promise.all(
      numbered('', CALLERS).map(async (_, caller) => {
        for (let index = 0; index < EACH; index += 1) {
          const outcome = await c.append('t', 'm', appended(`<${caller}:${index}>`));
          assert.equal(outcome.kind, 'appended');
        }
      }),
    );
    const found = (await text(c)).match(/<\d+:\d+>/g) ?? [];
    assert.equal(found.join(''), await text(c));
    assert.equal(found.length, CALLERS * EACH);
    for (let caller = 0; caller < CALLERS; caller += 1) {
      const own = found.filter((each) => each.startsWith(`<${caller}:`));
      assert.deepEqual(
        own,
        Array.from({ length: EACH }, (_, index) => `<${caller}:${index}>`),
      );
    }
  });

  test('a long text grows to the limit in appends of any size, and not beyond it', async () => {
    const c = await withMessage('');
    let expected = '';
    const overhead = Buffer.byteLength(markdown('').json);
    for (const size of [1, 100, 2_047, 2_048, 2_049, 30_000, 5_000]) {
      expected += String(size % 10).repeat(size);
      await c.append('t', 'm', appended(String(size % 10).repeat(size)));
      assert.ok((await text(c)) === expected, `after ${size} more`);
    }
    const left = limits.CONTENT_MAX_BYTES - overhead - expected.length;
    const before = await c.message('t', 'm');
    assert.deepEqual(await c.append('t', 'm', appended('x'.repeat(left + 1))), { kind: 'tooLarge' });
    assert.deepEqual(await c.append('t', 'm', appended(`${'x'.repeat(left - 1)}"`)), { kind: 'tooLarge' });
    assert.deepEqual(await c.message('t', 'm'), before);
    assert.equal((await c.append('t', 'm', appended(`${'x'.repeat(left - 2)}é`))).kind, 'appended');
    assert.ok((await text(c)) === `${expected}${'x'.repeat(left - 2)}é`);
    assert.deepEqual(await c.append('t', 'm', appended('x')), { kind: 'tooLarge' });
  });

  test('an append at another offset is stale, so that a repeated one is not applied twice', async () => {
    const c = await withMessage('a\u{1f600}');
    for (const offset of [0, 1, 3]) {
      assert.deepEqual(await c.append('t', 'm', appended('x', offset)), { kind: 'stale' });
    }
    assert.equal((await c.append('t', 'm', appended('bc', 2))).kind, 'appended');
    assert.deepEqual(await c.append('t', 'm', appended('bc', 2)), { kind: 'stale' });
    assert.equal((await c.append('t', 'm', appended('d', 4))).kind, 'appended');
    assert.equal(await text(c), 'a\u{1f600}bcd');
    for (const offset of [2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER])
      assert.deepEqual(await c.append('t', 'm', appended('x', offset)), { kind: 'stale' });
  });

  test('exactly one of eight racing appends at one offset is stored', async () => {
    const c = await withMessage('');
    const outcomes = await Promise.all(numbered('', 8).map((id) => c.append('t', 'm', appended(id, 0))));
    assert.equal(outcomes.filter(({ kind }) => kind === 'appended').length, 1);
    assert.equal((await text(c)).length, 6);
  });

  test('new content replaces what was appended, and can be appended to again', async () => {
    const c = await withMessage();
    for (const part of [' a', 'x'.repeat(5_000), ' b']) await c.append('t', 'm', appended(part));
    await c.putMessage('t', 'm', { content: plain('other') });
    assert.equal((await c.message('t', 'm')).content, plain('other').json);
    await c.putMessage('t', 'm', { content: markdown('New') });
    assert.equal(await text(c), 'New');
    await c.append('t', 'm', appended(' text', 3));
    assert.equal(await text(c), 'New text');
  });

  test('content is compared with what was appended to', async () => {
    const c = await withMessage();
    await c.append('t', 'm', appended(' world'));
    assert.equal((await c.putMessage('t', 'm', { content: markdown('Hello world') })).kind, 'unchanged');
    assert.equal((await c.putMessage('t', 'm', { content: markdown('Hello') })).kind, 'updated');
    assert.equal(await text(c), 'Hello');
  });

  test('an update that leaves the content leaves what was appended', async () => {
    const c = await withMessage();
    await c.append('t', 'm', appended(' world'));
    await c.putMessage('t', 'm', { metadata: '{"a":1}', deleted: true });
    assert.equal(await text(c), 'Hello world');
    await c.putMessage('t', 'm', { deleted: false });
    await c.append('t', 'm', appended('!', 11));
    assert.equal(await text(c), 'Hello world!');
  });

  const NOT_APPENDABLE = { kind: 'notAppendable' };
  const errors: readonly [
    title: string,
    thread: string,
    id: string,
    text: string,
    expected: object,
    given?: Given,
  ][] = [
    ['an unknown thread', 'none', 'm', 'x', { kind: 'threadAbsent' }, { ifMatch: ['other'] }],
    ['an unknown message', 't', 'none', 'x', { kind: 'absent' }, { ifMatch: ['other'] }],
    [
      'a message of a deleted group, even where it is not appendable',
      's',
      'plain',
      'x',
      SHUT,
      { ifMatch: ['other'] },
    ],
    ['content that is not markdown', 't', 'plain', 'x', NOT_APPENDABLE, { ifMatch: ['other'] }],
    ['a deleted message', 't', 'deleted', 'x', NOT_APPENDABLE, { ifMatch: ['other'] }],
    ['a message of a deleted group and no other reason', 's', 'text', 'x', SHUT],
    ['content that is not markdown and no other reason', 't', 'plain', 'x', NOT_APPENDABLE],
    ['a deleted message and no other reason', 't', 'deleted', 'x', NOT_APPENDABLE],
    ['another revision', 't', 'm', 'x'.repeat(limits.CONTENT_MAX_BYTES), STALE, { ifMatch: ['other'] }],
    ['the condition that it is not there', 't', 'm', 'x', STALE, { ifNoneMatch: '*' }],
    ['a text that is too large', 't', 'm', 'x'.repeat(limits.CONTENT_MAX_BYTES), { kind: 'tooLarge' }],
  ];
  for (const [title, thread, id, added, expected, given] of errors) {
    test(`an append with ${title} is rejected, and changes nothing`, async () => {
      const c = await withMessage();
      await c.newMessage('t', 'plain', { content: plain('x') });
      await c.newMessage('t', 'deleted', { content: markdown('x'), deleted: true });
      await c.newThread('s', { groupId: 'shut', createdAt: 1 });
      await c.newMessage('s', 'plain', { content: plain('x'), createdAt: 1 });
      await c.newMessage('s', 'text', { content: markdown('x'), createdAt: 1 });
      const before = [await c.listMessages('t'), await c.listMessages('s'), await c.recorded()];
      assert.deepEqual(await c.append(thread, id, appended(added), given), expected);
      assert.deepEqual([await c.listMessages('t'), await c.listMessages('s'), await c.recorded()], before);
    });
  }

  test('not appendable goes before an offset that does not fit, and the offset before a text that is too large', async () => {
    const c = await withMessage();
    await c.newMessage('t', 'plain', { content: plain('x') });
    assert.deepEqual(await c.append('t', 'plain', appended('x', 99)), NOT_APPENDABLE);
    assert.deepEqual(await c.append('t', 'm', appended('x'.repeat(limits.CONTENT_MAX_BYTES), 99)), STALE);
  });

  test('an append with the revision that it requires is applied', async () => {
    const c = await withMessage();
    assert.equal((await c.append('t', 'm', appended('!'), { ifMatch: ['made'] })).kind, 'appended');
    assert.deepEqual(await c.append('t', 'm', appended('!'), { ifMatch: ['made'] }), STALE);
    assert.equal(await text(c), 'Hello!');
  });
}
