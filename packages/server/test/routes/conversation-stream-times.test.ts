/** When streams of conversations show a change: by a clock that the test moves. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientToken } from '../support/browser.ts';
import { projectWithThread, threadOf, threadPath, write } from '../support/conversation.ts';
import { shownThreads } from '../support/conversation-model.ts';
import { expectDone } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const clock = new MovedClock();
const server = oneServer({ clock });

const THREADS = '/v1/threads?groupID=g';
const bearer = (project: Project, user: string) => ({
  authorization: `Bearer ${clientToken(project, { user_id: user }, clock.now())}`,
});

/** As the host, and as user v. */
const openThreads = (project: Project) =>
  together([
    StreamReader.open(project, THREADS),
    StreamReader.open(project, '/v1/client/threads?groupID=g', bearer(project, 'v')),
  ]) as Promise<readonly [StreamReader, StreamReader] & Disposable>;

/** Moves the clock until the reader has so many `thread` events: a notification by Redis comes after the answer. */
const threadEvents = (reader: StreamReader, count: number) =>
  until(`${count} thread events`, () => {
    if (reader.of('thread').length < count) clock.move(1_000);
    return reader.of('thread').length === count;
  });

describe('a change of a thread in a stream of threads', () => {
  test('a thread marked as seen is a thread event within 1 s: unread for the user, the participant for all readers', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    using readers = await openThreads(project);
    const [host, v] = readers;
    await host.snapshot();
    assert.equal((await v.snapshot()).data.threads[0].unread, 1);
    expectDone(await project.put(threadPath('t'), { name: 'Before' }));
    await threadEvents(host, 1);
    expectDone(await project.put('/v1/client/threads/t/seen', {}, bearer(project, 'v')));
    for (const reader of [host, v]) await threadEvents(reader, 2);
    assert.equal(v.of('thread')[1]?.data.unread, 0);
    assert.deepEqual(host.of('thread')[1]?.data, await threadOf(project, 't'));
    assert.deepEqual(
      host
        .of('thread')[1]
        ?.data.participants.map(({ userID }: { userID: string }) => userID)
        .toSorted(),
      ['u', 'v'],
    );
    // Seen once more up to the same message, nothing changes.
    const seen = { messageID: 'm' };
    expectDone(await project.put('/v1/client/threads/t/seen', seen, bearer(project, 'v')));
    expectDone(await project.put(threadPath('t'), { name: 'After' }));
    await threadEvents(host, 3);
    assert.equal(host.of('thread')[2]?.data.name, 'After');
  });

  test('changes of one second are one thread event for each thread', async () => {
    const project = await projectWithThread(server);
    expectDone(await project.put(threadPath('other'), { groupID: 'g', name: 'Other' }));
    using readers = await openThreads(project);
    for (const reader of readers) await reader.snapshot();
    for (const id of ['a', 'b', 'c']) expectDone(await write(project, 't', id));
    expectDone(await project.put(threadPath('other'), { name: 'Renamed' }));
    for (const reader of readers) {
      await threadEvents(reader, 2);
      const shown = reader.of('thread').map(({ data }) => [data.id, data.total]);
      assert.deepEqual(Object.fromEntries(shown), { t: 3, other: 0 });
    }
  });
});

describe('a thread that enters or leaves the filter of a stream of threads', () => {
  const OPEN = `${THREADS}&resolved=false`;
  const shown = (reader: StreamReader) =>
    reader.events.filter(({ type }) => type !== 'snapshot').map(({ type, data }) => [type, data.id]);
  const resolve = async (project: Project, thread: string, resolved: boolean) =>
    expectDone(await project.put(threadPath(thread), { resolved }));
  /** Moves the clock until the reader has what was written before, and the thread `last`. */
  const tick = async (project: Project, reader: StreamReader) => {
    const name = `N${clock.now()}`;
    expectDone(await project.put(threadPath('last'), { groupID: 'g', name }));
    await until('the last thread', () => {
      clock.move(1_000);
      return reader.of('thread').some(({ data }) => data.name === name);
    });
  };

  test('a thread that was never within the filter is not removed, whatever happens to it', async () => {
    const project = await projectWithThread(server);
    const location = { page: '1' };
    for (const id of ['done', 'elsewhere'])
      expectDone(await project.put(threadPath(id), { groupID: 'g', name: id, resolved: true }));
    expectDone(await project.put(threadPath('last'), { groupID: 'g', name: 'L', location }));
    const at = `&location=${encodeURIComponent(JSON.stringify(location))}`;
    for (const path of [OPEN, THREADS + at]) {
      using reader = await StreamReader.open(project, path);
      await reader.snapshot();
      expectDone(await write(project, 'done', `m${clock.now()}`));
      expectDone(await project.put(threadPath('elsewhere'), { location: { page: path } }));
      await tick(project, reader);
      expectDone(await project.delete(threadPath('elsewhere')));
      expectDone(await project.put(threadPath('elsewhere'), { groupID: 'g', name: 'N', resolved: true }));
      await tick(project, reader);
      assert.deepEqual(shown(reader), [
        ['thread', 'last'],
        ['thread', 'last'],
      ]);
    }
  });

  test('readers who come, or come back, while a thread enters and leaves the filter end with the list as it is', async () => {
    const project = await projectWithThread(server);
    const known = (reader: StreamReader) => {
      const ids = new Set<string>();
      for (const { type, data } of reader.events) {
        if (type === 'snapshot') for (const { id } of data.threads) ids.add(id);
        else if (type === 'thread') ids.add(data.id);
        else ids.delete(data.id);
      }
      return ids;
    };
    using first = await StreamReader.open(project, OPEN);
    const { id } = await first.snapshot();
    await resolve(project, 't', true);
    await tick(project, first);
    for (let round = 0; round < 10; round += 1) {
      const flipped = (async () => {
        for (const resolved of [false, true, false, true]) await resolve(project, 't', resolved);
      })();
      const headers = [{}, {}, {}, { 'last-event-id': id }, { 'last-event-id': id }];
      using readers = await together(headers.map((some) => StreamReader.open(project, OPEN, some)));
      await flipped;
      for (const reader of [first, ...readers]) await tick(project, reader);
      for (const reader of [first, ...readers]) assert.deepEqual([...known(reader)], ['last']);
    }
  });

  test('a thread that came and went while a reader was away is not removed', async () => {
    const project = await projectWithThread(server);
    using first = await StreamReader.open(project, OPEN);
    const { id } = await first.snapshot();
    expectDone(await project.put(threadPath('guest'), { groupID: 'g', name: 'Guest' }));
    await tick(project, first);
    await resolve(project, 'guest', true);
    await resolve(project, 't', true);
    await tick(project, first);
    await first.until('the removals', () => first.of('removed').length === 2);
    using second = await StreamReader.open(project, OPEN, { 'last-event-id': id });
    await tick(project, second);
    assert.deepEqual(
      second.of('removed').map(({ data }) => data.id),
      ['t'],
    );
  });
});

describe('a stream of threads that resumes', () => {
  test('no thread of a deleted group is shown in a new group of the same ID to a reader who comes back with Last-Event-ID', async () => {
    const project = await projectWithThread(server);
    const first = await StreamReader.open(project, THREADS);
    await first.snapshot();
    expectDone(await project.put(threadPath('guest'), { groupID: 'g', name: 'Guest' }));
    await threadEvents(first, 1);
    const headers = { 'last-event-id': first.parser.lastEventId };
    expectDone(await project.delete('/v1/groups/g'));
    await until('the end', () => {
      clock.move(1_000);
      return first.hasEnded;
    });
    expectDone(await project.put('/v1/groups/g', { name: 'G again' }));
    expectDone(await project.put(threadPath('new'), { groupID: 'g', name: 'New' }));
    using second = await StreamReader.open(project, THREADS, headers);
    await until('the list as it is', () => {
      clock.move(1_000);
      const shown = shownThreads([...first.events, ...second.events]);
      return Object.keys(shown).join() === 'new';
    });
  });
});

describe('a stream of messages that resumes', () => {
  test('a thread event that a reader with a client token missed has unread of its user', async () => {
    const project = await projectWithThread(server);
    const open = (headers = {}) =>
      StreamReader.open(project, '/v1/client/threads/t/messages', { ...bearer(project, 'v'), ...headers });
    const first = await open();
    const { id } = await first.snapshot();
    first.close();
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.put(threadPath('t'), { name: 'Renamed' }));
    using second = await open({ 'last-event-id': id });
    await second.until('the thread', () => second.of('thread').length === 1);
    assert.deepEqual(
      second.events.map(({ type }) => type),
      ['message', 'thread'],
    );
    assert.equal(second.of('thread')[0]?.data.unread, 1);
  });
});
