import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientToken } from '../../server/test/support/browser.ts';
import { closedAfterTests } from '../../server/test/support/closing.ts';
import { markdown, projectWithThread, textContent } from '../../server/test/support/conversation.ts';
import { MovedClock } from '../../server/test/support/moved-clock.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import { Presence } from '../../server/test/support/presence-client.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { SlowProxy } from '../../server/test/support/slow-proxy.ts';
import { until } from '../../server/test/support/waiting.ts';
import {
  type MessagesEvent,
  type MessagesWatch,
  Rollcall,
  RollcallClient,
  RollcallError,
  type ThreadsWatch,
  type Watch,
} from '../src/index.ts';
import { type Received, respond, type Script, withScriptedClient } from './support/scripted-server.ts';
import { cutStream, errorEvent, SOON, stream, written } from './support/scripted-streams.ts';

const server = oneServer();
const closedAfter = closedAfterTests();

const hostOf = ({ token }: Project, url: string) => closedAfter(new Rollcall({ url, token }));

async function next<Event>(watch: Watch<Event>): Promise<Event> {
  const { done, value } = await watch.next();
  assert.ok(!done, 'the stream ended');
  return value as Event;
}

/** The next event, which has this type. */
async function nextOf<Event extends { readonly type: string }, Type extends Event['type']>(
  watch: Watch<Event>,
  type: Type,
): Promise<Extract<Event, { readonly type: Type }>> {
  const event = await next(watch);
  assert.equal(event.type, type, JSON.stringify(event));
  return event as Extract<Event, { readonly type: Type }>;
}

const endsWith = (watch: AsyncIterable<unknown>, code: string, status = 0) =>
  assert.rejects(
    async () => {
      for await (const _ of watch);
    },
    (error) => {
      assert.ok(error instanceof RollcallError);
      assert.deepEqual([error.code, error.status], [code, status], error.message);
      return true;
    },
  );

describe('watching the messages of a thread', () => {
  test('a watch of messages yields messages with their own type, appended texts, removals and the thread', async () => {
    const project = await projectWithThread(server);
    const rollcall = hostOf(project, project.url);
    const messages = rollcall.threads.messages('t');
    await messages.put('m', { authorID: 'u', content: markdown('In') });
    const watch: MessagesWatch = messages.watch();
    const snapshot = await nextOf(watch, 'snapshot');
    assert.deepEqual(snapshot.thread, await rollcall.threads.get('t'));
    assert.deepEqual(snapshot.messages, [await messages.get('m')]);
    await messages.append('m', { text: ' June "\n🙂' });
    assert.deepEqual(await next(watch), { type: 'appended', id: 'm', text: ' June "\n🙂', length: 11 });
    await messages.put('m', { type: 'action_message' });
    const changed = await nextOf(watch, 'message');
    assert.deepEqual(changed, { type: 'message', message: await messages.get('m') });
    assert.equal(changed.message.type, 'action_message');
    await messages.delete('m');
    assert.deepEqual(await next(watch), { type: 'removed', id: 'm' });
    await rollcall.threads.put('t', { name: 'Renamed' });
    assert.deepEqual(await next(watch), { type: 'thread', thread: await rollcall.threads.get('t') });
  });

  test('the messages before those of the snapshot are listed with its token', async () => {
    const project = await projectWithThread(server);
    const messages = hostOf(project, project.url).threads.messages('t');
    const ids = Array.from({ length: 60 }, (_, index) => `m${index}`);
    for (const id of ids) await messages.put(id, { authorID: 'u', content: textContent(id) });
    const { messages: newest, pagination } = await nextOf(messages.watch(), 'snapshot');
    const older = messages.list({ order: 'descending' });
    const { items } = await older.page({ token: pagination.token ?? '' });
    assert.deepEqual(
      [...items.toReversed(), ...newest].map(({ id }) => id),
      ids,
    );
  });

  test('a watch of messages whose connection is cut resumes: nothing is missed, and nothing comes twice', async () => {
    const project = await projectWithThread(server);
    const writer = hostOf(project, project.url).threads.messages('t');
    await SlowProxy.with(project.url, async (proxy, url) => {
      const watch = hostOf(project, url).threads.messages('t').watch();
      await nextOf(watch, 'snapshot');
      await writer.put('a', { authorID: 'u', content: markdown('A') });
      await nextOf(watch, 'message');
      proxy.cut();
      await writer.append('a', { text: 'B' });
      await writer.put('b', { authorID: 'u', content: textContent('b') });
      proxy.mend();
      // A message to which texts were appended meanwhile is sent whole.
      const missed = [await nextOf(watch, 'message'), await nextOf(watch, 'message')];
      assert.deepEqual(missed.map(({ message: { id, plaintext } }) => [id, plaintext]).toSorted(), [
        ['a', 'AB'],
        ['b', 'b'],
      ]);
      await writer.append('a', { text: 'C' });
      assert.deepEqual(await next(watch), { type: 'appended', id: 'a', text: 'C', length: 3 });
      await watch.return();
    });
  });

  test('a watch of messages ends with thread_not_found when the thread is deleted, and one of a missing thread begins with it', async () => {
    const project = await projectWithThread(server);
    const { threads } = hostOf(project, project.url);
    const watch = threads.messages('t').watch();
    await nextOf(watch, 'snapshot');
    await threads.delete('t');
    await endsWith(watch, 'thread_not_found');
    assert.deepEqual(await watch.next(), { done: true, value: undefined });
    await endsWith(threads.messages('t').watch(), 'thread_not_found', 404);
    await endsWith(threads.messages('..').watch(), 'invalid_field');
  });

  test('a watch of messages ends with group_not_found or thread_not_found when the group is deleted', async () => {
    const project = await projectWithThread(server);
    const rollcall = hostOf(project, project.url);
    const watch = rollcall.threads.messages('t').watch();
    await nextOf(watch, 'snapshot');
    await rollcall.groups.delete('g');
    await assert.rejects(watch.next(), (error) => {
      assert.match((error as RollcallError).code, /^(group|thread)_not_found$/);
      return error instanceof RollcallError;
    });
  });
});

describe('watching the threads of a group', () => {
  test('a watch of threads yields new and changed threads with their counts, and the removal of those that leave its filter', async () => {
    const project = await projectWithThread(server);
    const rollcall = hostOf(project, project.url);
    const watch: ThreadsWatch = rollcall.threads.watch({ groupID: 'g', resolved: false });
    const snapshot = await nextOf(watch, 'snapshot');
    assert.deepEqual(snapshot.threads, [await rollcall.threads.get('t')]);
    assert.deepEqual(snapshot.pagination, { token: null });
    await rollcall.threads.put('other', { groupID: 'h', name: 'Of another group' });
    await rollcall.threads.messages('t').put('m', { authorID: 'u', content: textContent('m') });
    const { thread } = await nextOf(watch, 'thread');
    assert.deepEqual([thread.id, thread.userMessages], ['t', 1]);
    await rollcall.threads.put('t', { resolved: true });
    assert.deepEqual(await next(watch), { type: 'removed', id: 't' });
    await rollcall.groups.delete('g');
    await endsWith(watch, 'group_not_found');
  });
});

describe('watching with a client token', () => {
  test('watches of a client token have unread, and end when the user is set deleted or leaves the group', async () => {
    const project = await projectWithThread(server);
    const rollcall = hostOf(project, project.url);
    const asUser = (user: string) =>
      closedAfter(
        new RollcallClient({
          url: project.url,
          token: clientToken(project, { user_id: user, group_id: 'g' }),
        }),
      );
    const [messages, threads] = [asUser('v').threads.messages('t').watch(), asUser('v').threads.watch()];
    assert.equal((await nextOf(messages, 'snapshot')).thread.unread, 0);
    assert.deepEqual(
      (await nextOf(threads, 'snapshot')).threads.map(({ unread }) => unread),
      [0],
    );
    await asUser('u')
      .threads.messages('t')
      .create({ id: 'm', content: textContent('m') });
    assert.equal((await nextOf(messages, 'message')).message.authorID, 'u');
    assert.equal((await nextOf(threads, 'thread')).thread.unread, 1);
    const ofU = asUser('u').threads.messages('t').watch();
    await nextOf(ofU, 'snapshot');
    await rollcall.groups.changeMembers('g', { remove: ['u'] });
    await endsWith(ofU, 'group_not_found');
    await rollcall.users.put('v', { status: 'deleted' });
    await endsWith(messages, 'user_not_found');
    await endsWith(threads, 'user_not_found');
  });
});

describe('a watch whose token ends', () => {
  const clock = new MovedClock();
  const clocked = oneServer({ clock });

  test('a watch of messages continues with the next token without a new snapshot, and ends with invalid_project_token where there is none', async () => {
    const project = await projectWithThread(clocked);
    const { url } = project;
    const now = () => Math.floor(clock.now() / 1_000);
    let tokens = 0;
    const token = () => {
      tokens += 1;
      return clientToken(project, { user_id: 'u', exp: now() + 60 }, clock.now());
    };
    const renewing = closedAfter(new RollcallClient({ url, token })).threads.messages('t');
    const once = closedAfter(new RollcallClient({ url, token: token() }))
      .threads.messages('t')
      .watch();
    const watch = renewing.watch();
    await nextOf(watch, 'snapshot');
    await nextOf(once, 'snapshot');
    const ended = endsWith(once, 'invalid_project_token');
    const message = nextOf(watch, 'message');
    await new Presence(project).pass(clock, 151);
    await ended;
    await until('the token is renewed', () => tokens > 2);
    await renewing.create({ id: 'm', content: textContent('m') });
    assert.equal((await message).message.id, 'm');
  });
});

describe('hostile streams of messages', () => {
  const SNAPSHOT = written('e-0', 'snapshot', { thread: {}, messages: [], pagination: { token: null } });
  const appended = (id: string, text: string) => written(id, 'appended', { id: 'm', text, length: 1 });

  const watching = (
    script: Script,
    use: (watch: MessagesWatch, received: readonly Received[], rollcall: Rollcall) => Promise<void>,
  ) =>
    withScriptedClient(script, (rollcall, { received }) =>
      use(rollcall.threads.messages('t').watch(), received, rollcall),
    );

  const textOf = (event: MessagesEvent) => (event.type === 'appended' ? event.text : event.type);

  test('an event that is not JSON, or is cut off, is requested again and not skipped', async () => {
    const script: Script = (request, index) => {
      if (index === 0)
        return stream(
          request,
          SOON,
          SNAPSHOT,
          'id: e-1\nevent: appended\ndata: {"id"\n\n',
          appended('e-2', 'b'),
        );
      if (index === 1) return cutStream(request, 'id: e-1\nevent: appended\ndata: {"id":"m","te');
      return stream(request, appended('e-1', 'a'), appended('e-2', 'b'));
    };
    await watching(script, async (watch, received) => {
      const texts = [textOf(await next(watch)), textOf(await next(watch)), textOf(await next(watch))];
      assert.deepEqual(texts, ['snapshot', 'a', 'b']);
      assert.deepEqual(
        received.map(({ headers }) => headers['last-event-id']),
        [undefined, 'e-0', 'e-0'],
      );
    });
  });

  test('events of unknown types are ignored, and an error event ends the watch after the events before it', async () => {
    const script: Script = (request) =>
      stream(
        request,
        `${SNAPSHOT}${written('e-1', 'toString', {})}${written('e-2', 'pinned', {})}${appended('e-3', 'a')}`,
        errorEvent('thread_not_found', 'thread t does not exist'),
      );
    await watching(script, async (watch) => {
      await nextOf(watch, 'snapshot');
      assert.equal(textOf(await next(watch)), 'a');
      await assert.rejects(watch.next(), { code: 'thread_not_found', message: 'thread t does not exist' });
    });
  });

  test('while the consumer handles an event, the client reads no more than its buffers hold', async () => {
    const text = 'x'.repeat(64 * 1_024);
    const total = 512;
    let writes = 0;
    let isWhole = false;
    const flood = ({ response }: Received) => {
      while (writes < total) {
        writes += 1;
        if (!response.write(appended(`e-${writes}`, text)))
          return void response.once('drain', () => flood(received));
      }
      isWhole = true;
    };
    let received: Received;
    const script: Script = (request) => {
      if (request.url === '/healthz') return respond(request, 200, {});
      received = request;
      stream(request, SNAPSHOT);
      return flood(request);
    };
    await watching(script, async (watch, _received, rollcall) => {
      await nextOf(watch, 'snapshot');
      // What the client reads ahead is read while other requests are answered.
      for (let count = 0; count < 200; count += 1) await rollcall.health.alive();
      assert.ok(!isWhole && writes < total / 2, `${writes} of ${total} events were taken`);
      for (let count = 0; count < total; count += 1) assert.equal(textOf(await next(watch)), text);
    });
  });
});
