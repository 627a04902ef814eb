/** Streams of threads and messages on several processes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startCluster } from '../../../../cluster/start-cluster.ts';
import { markdown, messageOf, messagePath, threadOf, threadPath, write } from '../support/conversation.ts';
import { shownMessages, shownThreads } from '../support/conversation-model.ts';
import type { StreamEvent } from '../support/event-parser.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';
import { StreamReader, together } from '../support/stream-reader.ts';
import { createProject, KNOWN, oneCluster, showFailures, skip, withSharedServers } from './cluster-case.ts';

const MESSAGES = '/v1/threads/t/messages';
const THREADS = '/v1/threads?groupID=g';
const CALLERS = 6;
const APPENDS_EACH = 15;

async function converse(project: Project): Promise<void> {
  await project.seedGroup('g', 'u', 'v');
  expectDone(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
  expectDone(await write(project, 't', 'm', { content: markdown('') }));
}

const append = async (project: Project, text: string) =>
  expectOk(await project.post(`${messagePath('t', 'm')}/append`, { text }));

/** The messages and removals in their order; an append may come as several events, or with others as one. */
const orderOf = (events: readonly StreamEvent[]) =>
  events
    .filter(({ type, data }) => type !== 'snapshot' && data.id !== 'm')
    .map(({ type, id, data }) => [type, id, data]);

describe('streams of a conversation on several processes', { skip }, () => {
  const cluster = oneCluster(3);

  async function conversing(): Promise<[Project, Project, Project]> {
    const projects = (await cluster.project()) as [Project, Project, Project];
    await converse(projects[0]);
    return projects;
  }

  test('appends and messages of all processes reach the readers of each process, in the same order', async () => {
    const projects = await conversing();
    using readers = await together(projects.map((project) => StreamReader.open(project, MESSAGES)));
    for (const reader of readers) await reader.snapshot();
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      const project = projects[caller % projects.length] as Project;
      for (let step = 0; step < APPENDS_EACH; step += 1) {
        await append(project, `<${caller}:${step}>`);
        if (step % 5 === 0) expectDone(await write(project, 't', `m ${caller} ${step}`));
      }
    });
    await Promise.all(callers);
    expectDone(await write(projects[0], 't', 'last'));
    const { plaintext } = await messageOf(projects[1], 't', 'm');
    for (const reader of readers) {
      await reader.until('the last message', () => 'last' in shownMessages(reader.events));
      assert.equal(shownMessages(reader.events).m, plaintext);
    }
    const [first, ...others] = readers.map(({ events }) => orderOf(events));
    assert.equal(first?.length, 1 + (CALLERS * APPENDS_EACH) / 5);
    for (const other of others) assert.deepEqual(other, first);
  });

  test('a reader of messages resumes on another process, with nothing twice and nothing missing', async () => {
    const [here, there] = await conversing();
    using reader = await StreamReader.open(here, MESSAGES);
    await reader.snapshot();
    await append(there, 'In');
    await reader.until('the text', () => shownMessages(reader.events).m === 'In');
    const { lastEventId } = reader.parser;
    reader.close();
    await append(here, ' June');
    using next = await StreamReader.open(there, MESSAGES, { 'last-event-id': lastEventId });
    await next.until('the message', () => next.events.length === 1);
    assert.equal(shownMessages([...reader.events, ...next.events]).m, 'In June');
    assert.equal(next.of('snapshot').length, 0);
  });

  test('a reader of threads sees a message, a change and a removal of another process, and begins anew on another one', async () => {
    const projects = await conversing();
    const [here, there] = projects;
    expectDone(await here.put(threadPath('gone'), { groupID: 'g', name: 'Gone' }));
    using readers = await together(projects.map((project) => StreamReader.open(project, THREADS)));
    for (const reader of readers) await reader.snapshot();
    expectDone(await write(here, 't', 'n'));
    expectDone(await there.put(threadPath('t'), { name: 'Renamed' }));
    expectDone(await there.delete(threadPath('gone')));
    const thread = await threadOf(there, 't');
    for (const reader of readers) {
      const shown = () => shownThreads(reader.events);
      await reader.until('the thread', () => shown().t?.name === 'Renamed' && shown().t?.total === 2);
      await reader.until('the removal', () => shown().gone === undefined);
      assert.deepEqual(shown(), { t: thread });
    }
    const headers = { 'last-event-id': readers[0]?.parser.lastEventId ?? '' };
    using next = await StreamReader.open(there, THREADS, headers);
    assert.deepEqual(shownThreads([await next.snapshot()]), { t: thread });
  });

  test('a member who is removed on one process loses the streams of another one, and other readers do not', async () => {
    const [here, there] = await conversing();
    const { Browser } = await import('../support/browser.ts');
    const open = (user: string, path: string) =>
      StreamReader.open({ url: there.url, token: Browser.of(there, user).token }, path);
    using v = await open('v', '/v1/client/threads/t/messages');
    using list = await open('v', '/v1/client/threads?groupID=g');
    using u = await open('u', '/v1/client/threads/t/messages');
    for (const reader of [v, list, u]) await reader.snapshot();
    expectDone(await here.post('/v1/groups/g/members', { remove: ['v'] }));
    for (const reader of [v, list]) {
      await reader.ended();
      assert.equal(reader.of('error')[0]?.data.error, 'group_not_found');
    }
    assert.equal(u.hasEnded, false);
  });
});

describe('streams of a conversation one of whose processes is killed', { skip }, () => {
  test('readers of a killed process resume on another one, and have what the others append', () =>
    withSharedServers(async (servers) => {
      const options = { processes: 2, port: 0, ...servers, settings: KNOWN, onLine: showFailures };
      await using cluster = await startCluster(options);
      const [doomed, other] = (await createProject(cluster.nodes.map(({ url }) => url))) as [
        Project,
        Project,
      ];
      await converse(other);
      const open = (project: Project, headers = {}) => StreamReader.open(project, MESSAGES, headers);
      using lost = await open(doomed);
      using steady = await open(other);
      for (const reader of [lost, steady]) await reader.snapshot();
      const appends = async (project: Project, name: string) => {
        for (let step = 0; step < 50; step += 1) {
          const text = `<${name}:${step}>`;
          const answer = await project.post(`${messagePath('t', 'm')}/append`, { text }).catch(() => null);
          if (answer === null) return;
          expectOk(answer);
          if (name === 'doomed' && step === 20) cluster.nodes[0]?.process.signal('SIGKILL');
        }
      };
      await Promise.all([appends(doomed, 'doomed'), appends(other, 'other')]);
      await lost.ended();
      const last = lost.events.at(-1)?.id ?? '';
      using next = await open(other, { 'last-event-id': last });
      const { plaintext } = await messageOf(other, 't', 'm');
      await steady.until('all texts', () => shownMessages(steady.events).m === plaintext);
      await next.until('all texts', () => shownMessages([...lost.events, ...next.events]).m === plaintext);
      assert.equal(next.of('snapshot').length, 0);
      for (const project of [doomed, other]) project.close();
    }));
});
