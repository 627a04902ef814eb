/** `rollcall export` and `rollcall sync` of threads and messages, through the API of a server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiConnection } from '../../src/cli/roster/api-connection.ts';
import { exportConversations } from '../../src/cli/roster/conversation-export.ts';
import { fixedToken } from '../../src/cli/roster/token-source.ts';
import { closing } from '../support/closing.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { counts, exportText, flagsOf, jsonLines, runCli, syncText } from './roster-cli.ts';

const server = oneServer();

const AT = '2026-01-01T10:00:00.000Z';
const LATER = '2026-01-02T10:00:00.000Z';
const users = ['ann', 'bob'].map((id) => ({ type: 'user', id }));
const group = { type: 'group', id: 'g', name: 'G', members: ['ann'] };
const shut = { type: 'group', id: 'shut', name: 'S', status: 'deleted', members: ['ann'] };
const thread = {
  ...{ type: 'thread', id: 't/1', groupID: 'g', name: 'T', url: 'https://a.example/b' },
  ...{
    location: { page: '1' },
    metadata: { n: [1.5, null] },
    createdTimestamp: AT,
    resolvedTimestamp: LATER,
  },
};
const bare = { type: 'thread', id: '..', groupID: 'shut', name: 'Bare', createdTimestamp: AT };
const markdown = (text: string) => [{ type: 'markdown', children: [{ text }] }];
const message = (id: string, fields: object = {}) => ({
  ...{ type: 'message', threadID: 't/1', id, authorID: 'ann', content: markdown(id), createdTimestamp: AT },
  ...fields,
});
const mention = [{ type: 'mention', user: { id: 'bob' }, children: [{ text: '@bob' }] }];
const messages = [
  ...['z', 'a', 'm', '.'].map((id) => message(id)),
  message('rich', {
    content: mention,
    url: 'https://c.example/',
    metadata: { m: 1 },
    createdTimestamp: LATER,
  }),
  message('done', { messageType: 'action_message', createdTimestamp: LATER, updatedTimestamp: LATER }),
  message('in-bare', { threadID: '..', authorID: 'bob' }),
];
const everything = [...users, group, shut, thread, bare, ...messages];

const threadsOf = (project: Project) =>
  project.get('/v1/threads').then(({ text }) => JSON.parse(text).threads);
const messagesOf = async (project: Project, id: string) =>
  JSON.parse((await project.get(`/v1/threads/${id}/messages`)).text).messages as { id: string }[];

/** Writes a message in each of the threads. */
async function write(project: Project, threads: readonly string[]): Promise<void> {
  for (const id of threads) {
    const body = { id: `in ${id}`, authorID: 'ann', content: markdown('now') };
    assert.equal((await project.post(`/v1/threads/${id}/messages`, body)).status, 201);
  }
}

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);

describe('threads and messages of rollcall sync and rollcall export', () => {
  test('threads and messages of an export are the same after a sync into another project', async () => {
    const [one, other] = [await server.project(), await server.project()];
    const first = await syncText(one, jsonLines(everything));
    assert.deepEqual([first.code, first.json.threads, first.json.messages], [0, counts(2), counts(7)]);
    const exported = await exportText(one);
    const byText = (items: readonly object[]) =>
      items.map((item) => JSON.stringify(Object.entries(item).sort())).sort();
    assert.deepEqual(byText(linesOf(exported)), byText(everything));
    assert.equal((await syncText(other, exported)).code, 0);
    assert.deepEqual(await threadsOf(other), await threadsOf(one));
    for (const id of ['t%2F1', '%2E%2E'])
      assert.deepEqual(await messagesOf(other, id), await messagesOf(one, id));
    const ids = (await messagesOf(other, 't%2F1')).map(({ id }) => id);
    assert.deepEqual(ids, ['z', 'a', 'm', '.', 'rich', 'done']);
  });

  test('a second sync of threads and messages writes nothing, and counts all as unchanged', async () => {
    const project = await server.project();
    await syncText(project, jsonLines(everything));
    const etags = async () =>
      [
        ...(await Promise.all(['t%2F1', '%2E%2E'].map((id) => project.get(`/v1/threads/${id}`)))),
        await project.get('/v1/threads/t%2F1/messages/rich'),
      ].map(({ headers }) => headers.etag);
    const before = await etags();
    const { json } = await syncText(project, jsonLines(everything));
    assert.deepEqual([json.threads, json.messages, json.refused], [counts(0, 0, 2), counts(0, 0, 7), 0]);
    assert.deepEqual(await etags(), before);
  });

  test('sync updates a thread and a message that differ, and leaves fields that a line leaves out', async () => {
    const project = await server.project();
    await syncText(project, jsonLines(everything));
    const changed = [
      { type: 'thread', id: 't/1', groupID: 'g', name: 'New' },
      message('a', { content: markdown('changed'), updatedTimestamp: LATER }),
      message('z'),
    ];
    const { json } = await syncText(project, jsonLines(changed));
    assert.deepEqual([json.threads, json.messages, json.refused], [counts(0, 1), counts(0, 1, 1), 0]);
    const [found] = (await threadsOf(project)).filter(({ id }: { id: string }) => id === 't/1');
    assert.deepEqual([found.name, found.url, found.resolved], ['New', 'https://a.example/b', true]);
    const [, a] = (await messagesOf(project, 't%2F1')) as unknown as { plaintext: string }[];
    assert.equal(a?.plaintext, 'changed');
  });

  test('an export leaves out deleted messages and reports their count, and a sync of their lines keeps them deleted', async () => {
    const project = await server.project();
    await syncText(project, jsonLines(everything));
    assert.equal((await project.put('/v1/threads/t%2F1/messages/a', { deleted: true })).status, 200);
    const { stdout, stderr } = await runCli(['export', ...flagsOf(project)]);
    assert.match(stderr, /exported 2 users, 2 groups, 2 threads, 6 messages\nleft out 1 deleted message: /);
    assert.ok(!linesOf(stdout.toString()).some((line) => 'id' in line && line.id === 'a'));
    const { json } = await syncText(project, jsonLines(everything));
    assert.deepEqual([json.messages, json.refused], [counts(0, 0, 7), 0]);
    const { text } = await project.get('/v1/threads/t%2F1/messages/a');
    assert.notEqual(JSON.parse(text).deletedTimestamp, null);
  });

  test('an export has each thread once, also those in which users write while it is read, and none that is made meanwhile', async () => {
    const project = await server.project();
    // Two pages of the list, the latest first.
    const metadata = { text: 'x'.repeat(12_000) };
    const ids = Array.from({ length: 500 }, (_, index) => `t${String(index).padStart(3, '0')}`);
    const lines = ids.map((id, index) => ({
      ...{ type: 'thread', id, groupID: 'g', name: id, metadata },
      createdTimestamp: new Date(Date.parse(AT) + index).toISOString(),
    }));
    await syncText(project, jsonLines([...users, group, ...lines]), '--concurrency', '16');
    await using connection = closing(
      new ApiConnection({
        url: new URL(project.url),
        tokens: fixedToken(project.token),
        onRetry: (note) => assert.fail(note),
      }),
    );
    const found: { type: string; id: string }[] = [];
    const counts = { threads: 0, messages: 0, deletedMessages: 0 };
    for await (const text of exportConversations(connection, 1, counts)) {
      if (found.length === 0) {
        await write(project, ['t000', 't001', 't499']);
        const late = await project.put('/v1/threads/late', { groupID: 'g', name: 'late' });
        assert.equal(late.status, 200);
      }
      found.push(...(linesOf(text) as typeof found));
    }
    assert.equal(counts.threads, 500);
    const threads = found.filter(({ type }) => type === 'thread').map(({ id }) => id);
    assert.deepEqual(threads.toSorted(), ids);
    const late = found.filter(({ type }) => type === 'message').map(({ id }) => id);
    assert.deepEqual(late.filter((id) => id !== 'in t499').toSorted(), ['in t000', 'in t001']);
  });

  const rejected: readonly [what: string, line: object, reason: RegExp][] = [
    ['a thread of an unknown group', { ...thread, id: 'x', groupID: 'none' }, /^group_not_found: .*none/],
    [
      'a thread of another group than the stored one',
      { ...thread, groupID: 'shut' },
      /^invalid_field: .*groupID/,
    ],
    ['a message of an unknown thread', message('x', { threadID: 'none' }), /^thread_not_found: .*none/],
    ['a message of an unknown author', message('x', { authorID: 'eve' }), /^user_not_found: .*eve/],
    [
      'a message that mentions an unknown user',
      message('x', { content: [{ ...mention[0], user: { id: 'eve' } }] }),
      /^user_not_found: .*eve/,
    ],
    [
      'a message of another author than the stored one',
      message('a', { authorID: 'bob' }),
      /^invalid_field: .*authorID/,
    ],
    [
      'a message with invalid content',
      message('x', { content: [{ text: 7 }] }),
      /the message has a wrong content\[0\]\.text/,
    ],
    ['a message without a thread', { type: 'message', id: 'x' }, /the message has no threadID/],
    ['a thread with an unexpected field', { ...thread, nick: 1 }, /the thread has an unexpected field nick/],
  ];
  for (const flags of [[], ['--dry-run']]) {
    test(`sync ${flags} rejects each wrong line about a thread or a message with its number, and applies the others`, async () => {
      const project = await server.project();
      await syncText(project, jsonLines(everything));
      const before = [await threadsOf(project), await messagesOf(project, 't%2F1')];
      const last = message('last', { threadID: '..' });
      const lines = [...rejected.map(([, line]) => line), last];
      const { code, rejections, json } = await syncText(project, jsonLines(lines), ...flags);
      assert.equal(code, 1);
      for (const [index, [what, , reason]] of rejected.entries()) {
        const [, text = ''] =
          rejections.map((line) => new RegExp(`:${index + 1}: rejected: (.*)$`).exec(line)).find(Boolean) ??
          [];
        assert.match(text, reason, what);
      }
      assert.deepEqual([json.refused, json.messages], [rejected.length, counts(1)]);
      assert.deepEqual(
        [await threadsOf(project), await messagesOf(project, 't%2F1')].slice(1),
        before.slice(1),
      );
      assert.equal((await messagesOf(project, '%2E%2E')).length, flags.length === 0 ? 2 : 1);
    });
  }

  test('a dry run counts the threads and messages that a sync would create, update and leave, and writes none', async () => {
    const project = await server.project();
    const empty = await syncText(project, jsonLines(everything), '--dry-run');
    assert.deepEqual(
      [empty.json.threads, empty.json.messages, empty.json.refused],
      [counts(2), counts(7), 0],
    );
    assert.deepEqual(await threadsOf(project), []);
    await syncText(project, jsonLines(everything));
    const changed = everything.map((line) => (line === thread ? { ...thread, name: 'New' } : line));
    const { json } = await syncText(project, jsonLines([...changed, message('new')]), '--dry-run');
    assert.deepEqual([json.threads, json.messages], [counts(0, 1, 1), counts(1, 0, 7)]);
    assert.equal((await messagesOf(project, 't%2F1')).length, 6);
  });
});
