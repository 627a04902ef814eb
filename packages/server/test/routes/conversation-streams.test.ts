import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser } from '../support/browser.ts';
import {
  markdown,
  messageOf,
  messagePath,
  projectWithThread,
  textContent,
  threadOf,
  threadPath,
  write,
} from '../support/conversation.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader } from '../support/stream-reader.ts';

const server = oneServer();

const MESSAGES = `${threadPath('t')}/messages`;
const THREADS = '/v1/threads?groupID=g';

const browser = (project: Project, user: string) => ({
  url: project.url,
  token: Browser.of(project, user).token,
});
const append = async (project: Project, text: string) =>
  expectOk(await project.post(`${messagePath('t', 'm')}/append`, { text }));
const typesOf = (reader: StreamReader) => reader.events.map(({ type }) => type);

describe('the stream of the messages of a thread', () => {
  test('a stream of messages begins with a snapshot: the thread, its newest messages, the oldest of them first', async () => {
    const project = await projectWithThread(server);
    for (let index = 0; index < 60; index += 1) expectDone(await write(project, 't', `m${index}`));
    using reader = await StreamReader.open(project, MESSAGES);
    const { data } = await reader.snapshot();
    assert.deepEqual(data.thread, await threadOf(project, 't'));
    assert.deepEqual(
      data.messages.map(({ id }: { id: string }) => id),
      Array.from({ length: 50 }, (_, index) => `m${index + 10}`),
    );
    const older = await project.get(`${MESSAGES}?order=descending&token=${data.pagination.token}`);
    assert.equal(expectOk<{ messages: { id: string }[] }>(older).messages[0]?.id, 'm9');
  });

  test('a stream of messages has message, appended, removed and thread events, in the order of the commits', async () => {
    const project = await projectWithThread(server);
    using reader = await StreamReader.open(project, MESSAGES);
    await reader.snapshot();
    expectDone(await write(project, 't', 'm', { content: markdown('In') }));
    await reader.until('the message', () => reader.of('message').length === 1);
    assert.deepEqual(reader.of('message')[0]?.data, await messageOf(project, 't', 'm'));
    await append(project, ' June "\n😀');
    await reader.until('the text', () => reader.of('appended').length === 1);
    assert.deepEqual(reader.of('appended')[0]?.data, { id: 'm', text: ' June "\n😀', length: 11 });
    expectDone(await project.put(messagePath('t', 'm'), { deleted: true }));
    await reader.until('the deletion', () => reader.of('message').length === 2);
    assert.deepEqual(reader.of('message')[1]?.data.content, []);
    expectDone(await project.put(threadPath('t'), { name: 'Renamed' }));
    await reader.until('the thread', () => reader.of('thread').length === 1);
    assert.equal(reader.of('thread')[0]?.data.name, 'Renamed');
    expectDone(await project.delete(messagePath('t', 'm')));
    await reader.until('the removal', () => reader.of('removed').length === 1);
    assert.deepEqual(reader.of('removed')[0]?.data, { id: 'm' });
    assert.deepEqual(typesOf(reader), ['snapshot', 'message', 'appended', 'message', 'thread', 'removed']);
  });

  test('texts of concurrent appends all come, and lead to what the message has', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { content: markdown('') }));
    using reader = await StreamReader.open(project, MESSAGES);
    await reader.snapshot();
    await Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        for (let step = 0; step < 10; step += 1) await append(project, `<${caller}:${step}>`);
      }),
    );
    const { plaintext } = await messageOf(project, 't', 'm');
    const texts = () => reader.of('appended').map(({ data }) => data.text as string);
    await reader.until('all texts', () => texts().join('').length >= plaintext.length);
    assert.equal(texts().join(''), plaintext);
    assert.equal(reader.of('message').length, 0);
  });

  test('a reader who comes back with Last-Event-ID gets what it missed, and nothing twice', async () => {
    const project = await projectWithThread(server);
    using first = await StreamReader.open(project, MESSAGES);
    await first.snapshot();
    expectDone(await write(project, 't', 'a'));
    await first.until('the message', () => first.of('message').length === 1);
    const { lastEventId } = first.parser;
    first.close();
    expectDone(await write(project, 't', 'b'));
    expectDone(await project.delete(messagePath('t', 'a')));
    using second = await StreamReader.open(project, MESSAGES, { 'last-event-id': lastEventId });
    await second.until('what was missed', () => second.events.length === 2);
    assert.deepEqual(
      second.events.map(({ type, data }) => [type, data.id]),
      [
        ['message', 'b'],
        ['removed', 'a'],
      ],
    );
  });

  test('a reader who is cut off among many missed messages gets the rest of them with Last-Event-ID', async () => {
    const project = await projectWithThread(server);
    using first = await StreamReader.open(project, MESSAGES);
    const { id } = await first.snapshot();
    first.close();
    const ids = Array.from({ length: 8 }, (_, index) => `m${index}`);
    const content = textContent('x'.repeat(100_000));
    for (const message of ids) expectDone(await write(project, 't', message, { content }));
    expectDone(await project.put(threadPath('t'), { name: 'Renamed' }));
    using second = await StreamReader.open(project, MESSAGES, { 'last-event-id': id });
    await second.until(
      'all of them',
      () => second.of('message').length === 8 && second.of('thread').length > 0,
    );
    const types = second.events.map(({ type }) => type);
    assert.deepEqual(types, [...ids.map(() => 'message'), 'thread']);
    for (const [index, event] of second.events.slice(0, -1).entries()) {
      using again = await StreamReader.open(project, MESSAGES, { 'last-event-id': event.id });
      await again.until('the rest', () => again.of('thread').length > 0);
      assert.deepEqual(
        again.of('message').map(({ data }) => data.id),
        ids.slice(index + 1),
      );
    }
  });

  test('a Last-Event-ID of another thread of the same ID is answered with a snapshot', async () => {
    const project = await projectWithThread(server);
    using first = await StreamReader.open(project, MESSAGES);
    await first.snapshot();
    expectDone(await project.delete(threadPath('t')));
    expectDone(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
    const headers = { 'last-event-id': first.parser.lastEventId };
    using second = await StreamReader.open(project, MESSAGES, headers);
    assert.equal((await second.snapshot()).type, 'snapshot');
  });

  test('a stream of messages ends with thread_not_found when the thread is deleted and created again', async () => {
    const project = await projectWithThread(server);
    using reader = await StreamReader.open(project, MESSAGES);
    await reader.snapshot();
    expectDone(await project.delete(threadPath('t')));
    expectDone(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
    await reader.ended();
    assert.equal(reader.of('error')[0]?.data.error, 'thread_not_found');
    assert.equal(reader.of('snapshot').length, 1);
    using second = await StreamReader.open(project, MESSAGES);
    assert.equal((await second.snapshot()).type, 'snapshot');
  });

  test('a stream of messages ends with thread_not_found when the thread or its group is deleted', async () => {
    for (const path of [threadPath('t'), '/v1/groups/g']) {
      const project = await projectWithThread(server);
      using reader = await StreamReader.open(project, MESSAGES);
      await reader.snapshot();
      expectDone(await project.delete(path));
      await reader.ended();
      assert.match(reader.of('error')[0]?.data.error, /^(thread|group)_not_found$/);
    }
  });

  test('a stream of a client token has unread, and ends when its user is set deleted or leaves the group', async () => {
    for (const end of [
      (project: Project) => project.put('/v1/users/v', { status: 'deleted' }),
      (project: Project) => project.post('/v1/groups/g/members', { remove: ['v'] }),
    ]) {
      const project = await projectWithThread(server);
      expectDone(await write(project, 't', 'a'));
      using reader = await StreamReader.open(browser(project, 'v'), '/v1/client/threads/t/messages');
      assert.equal((await reader.snapshot()).data.thread.unread, 1);
      using other = await StreamReader.open(browser(project, 'u'), '/v1/client/threads/t/messages');
      await other.snapshot();
      expectDone(await end(project));
      await reader.ended();
      assert.match(reader.of('error')[0]?.data.error, /^(user|group)_not_found$/);
      assert.equal(other.hasEnded, false);
    }
  });

  test('a stream of messages takes no limit, token and order, and one of a missing thread is thread_not_found', async () => {
    const project = await projectWithThread(server);
    const accept = { accept: 'text/event-stream' };
    expectError(await project.get(`${MESSAGES}?limit=5`, accept), 400, 'invalid_field', 'limit');
    expectError(await project.get(`${threadPath('none')}/messages`, accept), 404, 'thread_not_found');
  });
});

describe('the stream of the threads of a group', () => {
  test('a stream of threads begins with a snapshot, and has thread events of new and changed threads, counts included', async () => {
    const project = await projectWithThread(server);
    using reader = await StreamReader.open(project, THREADS);
    assert.deepEqual((await reader.snapshot()).data, expectOk(await project.get(THREADS)));
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.put(threadPath('new'), { groupID: 'g', name: 'New' }));
    expectDone(await project.put(threadPath('other'), { groupID: 'h', name: 'Other' }));
    await reader.until('both threads', () => reader.of('thread').length >= 2);
    const shown = Object.fromEntries(reader.of('thread').map(({ data }) => [data.id, data]));
    assert.deepEqual(shown, { t: await threadOf(project, 't'), new: await threadOf(project, 'new') });
  });

  test('a thread that leaves the filter, or is deleted, is removed; one that enters it is a thread event', async () => {
    const project = await projectWithThread(server);
    using reader = await StreamReader.open(project, `${THREADS}&resolved=false`);
    await reader.snapshot();
    expectDone(await project.put(threadPath('t'), { resolved: true }));
    await reader.until('the removal', () => reader.of('removed').length === 1);
    expectDone(await project.put(threadPath('t'), { resolved: false }));
    await reader.until('the thread', () => reader.of('thread').length === 1);
    expectDone(await project.delete(threadPath('t')));
    await reader.until('the deletion', () => reader.of('removed').length === 2);
    assert.deepEqual(
      reader.of('removed').map(({ data }) => data),
      [{ id: 't' }, { id: 't' }],
    );
  });

  test('a reader of threads gets a new thread although another reader comes at once', async () => {
    const project = await projectWithThread(server);
    using first = await StreamReader.open(project, THREADS);
    await first.snapshot();
    expectDone(await project.put('/v1/threads/new', { groupID: 'g', name: 'New' }));
    using second = await StreamReader.open(project, THREADS);
    await second.snapshot();
    await first.until('the new thread', () => first.of('thread').some(({ data }) => data.id === 'new'));
  });

  test('a reader of threads who comes back with Last-Event-ID gets what it missed', async () => {
    const project = await projectWithThread(server);
    using first = await StreamReader.open(project, THREADS);
    using other = await StreamReader.open(project, THREADS);
    await first.snapshot();
    await other.snapshot();
    const { lastEventId } = first.parser;
    first.close();
    expectDone(await write(project, 't', 'm'));
    await other.until('the thread', () => other.of('thread').length === 1);
    using second = await StreamReader.open(project, THREADS, { 'last-event-id': lastEventId });
    await second.until('what was missed', () => second.events.length === 1);
    assert.deepEqual(
      second.events.map(({ type, data }) => [type, data.id]),
      [['thread', 't']],
    );
  });

  test("a client's stream of threads has unread of its own user, and needs a group of the user", async () => {
    const project = await projectWithThread(server);
    using u = await StreamReader.open(browser(project, 'u'), '/v1/client/threads?groupID=g');
    using v = await StreamReader.open(browser(project, 'v'), '/v1/client/threads?groupID=g');
    for (const reader of [u, v]) await reader.snapshot();
    expectDone(await write(project, 't', 'm', { content: textContent('Hi') }));
    for (const reader of [u, v]) await reader.until('the thread', () => reader.of('thread').length === 1);
    assert.deepEqual(
      [u, v].map((reader) => reader.of('thread')[0]?.data.unread),
      [0, 1],
    );
    using foreign = await StreamReader.open(browser(project, 'v'), '/v1/client/threads?groupID=h');
    assert.equal(foreign.status, 404);
  });

  test('a stream of threads without groupID is missing_field, and ends with group_not_found when the group is deleted', async () => {
    const project = await projectWithThread(server);
    const answer = await project.get('/v1/threads', { accept: 'text/event-stream' });
    expectError(answer, 400, 'missing_field', 'groupID');
    using reader = await StreamReader.open(project, THREADS);
    await reader.snapshot();
    expectDone(await project.delete('/v1/groups/g'));
    await reader.ended();
    assert.equal(reader.of('error')[0]?.data.error, 'group_not_found');
  });
});
