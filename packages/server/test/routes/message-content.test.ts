/** The content of messages over HTTP, and texts that are appended to it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { markdown, messageOf, messagePath, projectWithThread, write } from '../support/conversation.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

describe('content', () => {
  const put = async (content: unknown) => {
    const project = await projectWithThread(server);
    return { project, answer: await write(project, 't', 'm', { content }) };
  };
  const text = { text: 'x' };

  test('content of every kind of node is read as it was written, with its plaintext', async () => {
    const content = [
      {
        type: 'p',
        children: [{ text: 'Hi ' }, { type: 'mention', user: { id: 'v' }, children: [{ text: '@V' }] }],
      },
      {
        type: 'quote',
        children: [
          { type: 'p', children: [{ text: 'one', bold: true }] },
          { type: 'p', children: [] },
        ],
      },
      { type: 'code', children: [{ text: 'two', code: true, italic: false, underline: true }] },
      { type: 'bullet', indent: 2, children: [text] },
      { type: 'number_bullet', bulletNumber: 3, indent: 0, children: [text] },
      {
        type: 'todo',
        todoID: 'q',
        done: false,
        children: [{ type: 'assignee', user: { id: 'u' }, children: [text] }, { text: ' does it' }],
      },
      { type: 'link', url: 'mailto:a@example.com', children: [{ text: 'mail' }] },
      { type: 'link', url: 'http://example.com', children: [{ text: ' or ' }] },
      { type: 'link', url: 'HTTPS://example.com/a', children: [{ text: 'write' }] },
      { text: ' end' },
    ];
    const { project, answer } = await put(content);
    expectDone(answer);
    const message = await messageOf(project, 't', 'm');
    assert.deepEqual(message.content, content);
    assert.equal(message.plaintext, 'Hi @V\none\n\ntwo\nx\nx\nx does it\nmail or write end');
  });

  const deep = (levels: number): object =>
    levels === 1 ? text : { type: 'quote', children: [deep(levels - 1)] };
  const invalid: [why: string, content: unknown, path: string][] = [
    ['is not an array', 'x', 'content'],
    ['is empty', [], 'content'],
    ['has 1,001 nodes', Array.from({ length: 1_001 }, () => text), 'content'],
    ['has a node that is a string', [text, 'x'], 'content[1] '],
    ['has a node that is null', [text, null], 'content[1] '],
    ['has an unknown type', [{ type: 'h1', children: [] }], 'content[0].type'],
    ['lacks children', [{ type: 'p' }], 'content[0].children'],
    ['has an unknown attribute', [{ ...text, color: 'red' }], 'content[0].color'],
    [
      'has a format of a wrong type',
      [text, text, { type: 'p', children: [{ ...text, bold: 1 }] }],
      'content[2].children[0].bold',
    ],
    ['has a link of another scheme', [{ type: 'link', url: 'ftp://x', children: [] }], 'content[0].url'],
    ['has a mention without a user', [{ type: 'mention', children: [] }], 'content[0].user'],
    [
      'mentions a user by a number',
      [{ type: 'mention', user: { id: 5 }, children: [] }],
      'content[0].user.id',
    ],
    ['mentions a user without an ID', [{ type: 'mention', user: {}, children: [] }], 'content[0].user.id'],
    [
      'assigns a user with another field',
      [{ type: 'p', children: [{ type: 'assignee', user: { id: 'u', name: 'U' }, children: [] }] }],
      'content[0].children[0].user.name',
    ],
    ['mentions what is no object', [{ type: 'mention', user: 'u', children: [] }], 'content[0].user '],
    [
      'has a todo with another ID',
      [{ type: 'todo', todoID: 1, done: true, children: [] }],
      'content[0].todoID',
    ],
    ['has a number without a bullet', [{ type: 'number_bullet', children: [] }], 'content[0].bulletNumber'],
    ['has a text and children', [{ ...text, children: [] }], 'content[0].children'],
    [
      'has markdown with a paragraph',
      [{ type: 'markdown', children: [{ type: 'p', children: [] }] }],
      'content[0].children',
    ],
    [
      'has bold markdown of a wrong type',
      [{ type: 'markdown', children: [{ ...text, bold: 1 }] }],
      'content[0].children[0].bold',
    ],
    ['has an attribute of every object', [{ ...text, toString: 'x' }], 'content[0].toString'],
    ['has U+0000', [{ text: '\0' }], 'content[0].text'],
    ['has a todo without done', [{ type: 'todo', todoID: 'a', children: [] }], 'content[0].done'],
    ['has markdown with two texts', [{ type: 'markdown', children: [text, text] }], 'content[0].children'],
    ['is nested nine levels', [deep(9)], `content[0]${'.children[0]'.repeat(8)}`],
    ['has more than 128 KiB', [{ text: 'x'.repeat(128 * 1_024) }], 'content'],
    ['has a lone surrogate', [{ text: '\ud800' }], 'content[0].text'],
  ];
  for (const [why, content, path] of invalid) {
    test(`content that ${why} is invalid_field of ${path}`, async () => {
      const { answer } = await put(content);
      expectError(answer, 400, 'invalid_field', path);
    });
  }

  test('several errors in content are invalid_field of each, and of twenty and a count', async () => {
    const { answer } = await put([
      { text: 1 },
      { type: 'mention', user: { id: 1 }, bold: true, children: 'x' },
    ]);
    expectError(
      answer,
      400,
      'invalid_field',
      ...['content[0].text', 'content[1].bold', 'content[1].user.id', 'content[1].children'],
    );
    const { answer: many } = await put(Array.from({ length: 30 }, () => ({ text: 1 })));
    expectError(many, 400, 'invalid_field', 'content[19].text', 'and 10 more');
  });

  test('content nested eight levels, of 1,000 nodes, or of exactly 128 KiB of JSON, is accepted', async () => {
    expectDone((await put([deep(8)])).answer);
    expectDone((await put(Array.from({ length: 1_000 }, () => text))).answer);
    const bytes = 128 * 1_024 - Buffer.byteLength(JSON.stringify([{ text: '' }]));
    // Quotes and letters outside of ASCII are two bytes each.
    const long = `${'é"'.repeat(bytes >> 2)}${'x'.repeat(bytes % 4)}`;
    expectDone((await put([{ text: long }])).answer);
    expectError((await put([{ text: `${long}x` }])).answer, 400, 'invalid_field', 'content');
  });
});

describe('POST …/append', () => {
  const append = async (
    project: Awaited<ReturnType<typeof projectWithThread>>,
    body: object,
    id = 'm',
    headers = {},
  ) => project.post(`${messagePath('t', id)}/append`, body, headers);

  test('an append adds its text to one markdown node, and answers the length in code points with the ETag', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('a"\\') }));
    const answer = await append(project, { text: 'b\n😀' });
    assert.deepEqual(answer.json(), { success: true, message: 'appended to message m', length: 6 });
    const read = await project.get(messagePath('t', 'm'));
    assert.equal(read.headers.etag, answer.headers.etag);
    const { content, plaintext, updatedTimestamp } = await messageOf(project, 't', 'm');
    assert.deepEqual([content, plaintext, updatedTimestamp], [markdown('a"\\b\n😀'), 'a"\\b\n😀', null]);
  });

  test('an empty text that is appended is answered with the length and the ETag that the message has', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('abc') }));
    const { etag } = (await project.get(messagePath('t', 'm'))).headers;
    const answer = await append(project, { text: '', offset: 3 });
    assert.deepEqual([answer.json<{ length: number }>().length, answer.headers.etag], [3, etag]);
    assert.equal((await project.get(messagePath('t', 'm'))).headers.etag, etag);
    expectError(await append(project, { text: '', offset: 2 }), 412, 'invalid_request');
  });

  test('a message that is not one markdown node, or is deleted, is message_not_appendable, before a wrong offset', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    expectError(await append(project, { text: 'x', offset: 99 }), 400, 'message_not_appendable', 'markdown');
    expectDone(await project.put(messagePath('t', 'm'), { content: markdown('x') }));
    expectDone(await project.put(messagePath('t', 'm'), { deleted: true }));
    expectError(await append(project, { text: 'x' }), 400, 'message_not_appendable');
  });

  test('an append with an offset that does not fit is 412 invalid_request, so it is not applied twice', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('ab') }));
    expectOk(await append(project, { text: 'c', offset: 2 }));
    expectError(await append(project, { text: 'c', offset: 2 }), 412, 'invalid_request');
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'abc');
  });

  test('an append beyond 128 KiB is invalid_field of text, and changes nothing', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('x'.repeat(131_000)) }));
    expectError(await append(project, { text: 'y'.repeat(100) }), 400, 'invalid_field', 'text');
    assert.equal((await messageOf(project, 't', 'm')).plaintext.length, 131_000);
  });

  test('a text that no message has room for is invalid_field before what is referenced and If-Match are checked', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('x') }));
    const body = { text: 'y'.repeat(128 * 1_024), offset: 99 };
    expectError(await append(project, body, 'm', { 'if-match': '"other"' }), 400, 'invalid_field', 'text');
    expectError(await append(project, body, 'none'), 400, 'invalid_field', 'text');
  });

  test('an append to what is not there is thread_not_found or message_not_found', async () => {
    const project = await projectWithThread(server);
    expectError(
      await project.post(`${messagePath('none', 'm')}/append`, { text: 'x' }),
      404,
      'thread_not_found',
    );
    expectError(await append(project, { text: 'x' }), 404, 'message_not_found');
  });

  test('appends of eight callers all arrive, each whole, and those of one caller in order', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('') }));
    const callers = Array.from({ length: 8 }, (_, caller) => caller);
    await Promise.all(
      callers.map(async (caller) => {
        for (let step = 0; step < 25; step += 1)
          expectOk(await append(project, { text: `<${caller}:${step}>` }));
      }),
    );
    const { plaintext } = await messageOf(project, 't', 'm');
    const texts = plaintext.match(/<\d+:\d+>/g) ?? [];
    assert.equal(texts.join(''), plaintext);
    for (const caller of callers) {
      const own = texts.filter((entry) => entry.startsWith(`<${caller}:`));
      assert.deepEqual(
        own,
        Array.from({ length: 25 }, (_, step) => `<${caller}:${step}>`),
      );
    }
  });

  test('new content by PUT replaces what was appended', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('a') }));
    expectOk(await append(project, { text: 'b' }));
    expectDone(await project.put(messagePath('t', 'm'), { content: markdown('new') }));
    expectOk(await append(project, { text: '!', offset: 3 }));
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'new!');
  });
});
