/** What a change costs that many readers of conversations see: counted in calls of the store. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { pino } from 'pino';
import { FeedReads } from '../../src/realtime/conversation/feed-reads.ts';
import { ThreadListFeed } from '../../src/realtime/conversation/thread-list-feed.ts';
import { Beginnings } from '../../src/realtime/sessions/beginnings.ts';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import type { ThreadFilter } from '../../src/store/ports/threads.ts';
import { readEventId } from '../../src/wire/conversation-events.ts';
import { markdown, plain } from '../contract/store/conversation.ts';
import { BY_TEST } from '../support/origin.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const VIEWERS = 300;
const USERS = Array.from({ length: VIEWERS }, (_, index) => `u${index}`);
const ANY = { groupId: 'g', location: null, resolved: null };

/** Counts the calls of the store's reads by name, with how many users or threads a call names. */
function counted({ engine: { store } }: StreamWorld) {
  const calls: Record<string, number> = {};
  let named = 0;
  for (const port of ['threads', 'messages', 'conversationFeed', 'eligibility', 'groups'] as const) {
    for (const [name, method] of Object.entries(store[port])) {
      Object.assign(store[port], {
        [name]: (...args: unknown[]) => {
          const key = `${port}.${name}`;
          calls[key] = (calls[key] ?? 0) + 1;
          if (key === 'eligibility.findMany') named += (args[1] as unknown[]).length;
          return Reflect.apply(method, store[port], args);
        },
      });
    }
  }
  return {
    calls,
    get named() {
      return named;
    },
  };
}

const writer = ({ project }: StreamWorld) => ({ project, ...BY_TEST });

async function seed(world: StreamWorld, threads = 1): Promise<void> {
  await world.seed(USERS);
  for (let index = 0; index < threads; index += 1)
    await world.services.threads.put(writer(world), `t${index}`, { groupID: 'g', name: 'T' }, {});
}

const putMessage = (world: StreamWorld, id: string, content = plain(id)) =>
  world.engine.store.messages.put(
    world.project,
    't0',
    id,
    { authorId: 'u0', content },
    { ...BY_TEST, now: world.clock.now(), revision: id },
  );

async function open(
  world: StreamWorld,
  userId: string,
  of: 'threads' | 'messages' = 'threads',
  lastId?: string,
  filter: ThreadFilter = ANY,
): Promise<SimulatedSink> {
  const hub = world.services.conversationStreams;
  const caller = { projectId: 'test-project', project: world.project, sessionId: null, ...BY_TEST };
  const request = { caller, groupId: 'g', viewer: { userId } };
  const from = readEventId(lastId);
  const session =
    of === 'threads'
      ? await hub.openThreads(request, filter, ['threads'], from)
      : await hub.openMessages(request, 't0', from);
  const sink = new SimulatedSink();
  sink.onEnd = () => session.close();
  session.start(new SseSink(sink));
  return sink;
}

const last = ({ parser }: SimulatedSink) => parser.events.at(-1);

describe('a change that many readers of threads see', () => {
  test(`a message is read once for ${VIEWERS} readers with client tokens, each of whom gets unread of its own`, () =>
    withStreams({}, async (world) => {
      await seed(world);
      const sinks: SimulatedSink[] = [];
      for (const userId of USERS) sinks.push(await open(world, userId));
      const count = counted(world);
      await world.services.messages.put(
        writer(world),
        't0',
        'm',
        { authorID: 'u0', content: [{ text: 'Hi' }] },
        {},
      );
      world.clock.move(1_000);
      await world.until('all events', () => sinks.every((sink) => last(sink)?.type === 'thread'));
      assert.deepEqual(
        sinks.map((sink) => last(sink)?.data.unread),
        USERS.map((userId) => (userId === 'u0' ? 0 : 1)),
      );
      const { 'threads.find': found, 'conversationFeed.unread': unread } = count.calls;
      assert.deepEqual([found, unread], [1, 1]);
      // Readers with the same text have the same bytes, so memory does not grow with the readers.
      assert.equal(new Set(sinks.map(({ written }) => written.at(-1))).size, 2);
    }));

  test('an append is read for readers of messages, and not for lists of threads', () =>
    withStreams({}, async (world) => {
      await seed(world);
      await putMessage(world, 'm', markdown('In'));
      const [list, messages] = [await open(world, 'u1'), await open(world, 'u1', 'messages')];
      await world.pass(2);
      const count = counted(world);
      await world.services.messages.append(writer(world), 't0', 'm', { text: ' June' }, {});
      await world.until('the text', () => last(messages)?.type === 'appended');
      await world.pass(2);
      assert.equal(count.calls['threads.find'], undefined);
      assert.equal(last(list)?.type, 'snapshot');
    }));

  for (const [of, type] of [
    ['threads', 'thread'],
    ['messages', 'message'],
  ] as const) {
    test(`other requests are served while a change is sent to many readers of ${of}`, () =>
      withStreams({}, async (world) => {
        await seed(world);
        const sinks: SimulatedSink[] = [];
        for (const userId of USERS) sinks.push(await open(world, userId, of));
        const message = { authorID: 'u0', content: [{ text: 'Hi' }] };
        await world.services.messages.put(writer(world), 't0', 'm', message, {});
        world.clock.move(1_000);
        const shown = () => sinks.filter((sink) => last(sink)?.type === type).length;
        let most = 0;
        for (let before = 0; before < VIEWERS; before = shown()) {
          await nextIteration();
          most = Math.max(most, shown() - before);
        }
        assert.ok(most <= 100, `${most} readers in one event-loop tick`);
      }));
  }

  test('unchanged threads cost one reading of revisions in eight seconds', () =>
    withStreams({}, async (world) => {
      await seed(world, 60);
      await open(world, 'u1');
      await open(world, 'u2');
      await world.pass(1);
      const count = counted(world);
      await world.pass(24);
      assert.equal(count.calls['conversationFeed.revisions'], 3);
      assert.deepEqual([count.calls['threads.find'], count.calls['threads.list']], [undefined, undefined]);
    }));

  test('streams of many unchanged threads cost one reading of positions a second', () =>
    withStreams({}, async (world) => {
      await seed(world);
      for (const userId of USERS) await open(world, userId, 'messages');
      await world.pass(1);
      const count = counted(world);
      await world.pass(5);
      assert.deepEqual(
        [count.calls['conversationFeed.positions'], count.calls['conversationFeed.changesSince']],
        [5, undefined],
      );
    }));
});

describe('a reader of threads who comes back', () => {
  test('a thread that a reader missed is sent once, also where it is not read before the next second', () =>
    withStreams({}, async (world) => {
      await seed(world);
      const { lastEventId } = (await open(world, 'u1')).parser;
      await world.services.threads.put(writer(world), 't0', { name: 'Renamed' }, {});
      await world.pass(2);
      const { threads } = world.engine.store;
      const find = threads.find.bind(threads);
      const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
      threads.find = async (...of) => {
        await isAnswered;
        return find(...of);
      };
      const sink = await open(world, 'u2', 'threads', lastEventId);
      await world.pass(2);
      answer();
      await world.until('the thread', () => sink.parser.events.length > 0);
      await world.pass(2);
      assert.deepEqual(
        sink.parser.events.map(({ type }) => type),
        ['thread'],
      );
    }));

  test('the latest 100 lists without readers are stored, and a reader of an older one begins with a snapshot', () =>
    withStreams({}, async (world) => {
      await seed(world);
      const filterOf = (page: number): ThreadFilter => ({
        ...ANY,
        location: { location: `{"page":"${page}"}`, partial: true },
      });
      const stays = await open(world, 'u0', 'threads', undefined, filterOf(0));
      const lastIds: string[] = [];
      for (let page = 1; page <= 101; page += 1) {
        const sink = await open(world, 'u1', 'threads', undefined, filterOf(page));
        await world.until('the snapshot', () => last(sink)?.type === 'snapshot');
        lastIds.push(sink.parser.lastEventId);
        world.clock.move(1);
        sink.onEnd();
      }
      await world.pass(1);
      const typesOf = async (page: number) => {
        const sink = await open(world, 'u1', 'threads', lastIds[page - 1], filterOf(page));
        await world.pass(2);
        return sink.parser.events.map(({ type }) => type);
      };
      assert.deepEqual(await typesOf(2), []);
      assert.deepEqual(await typesOf(1), ['snapshot']);
      const location = { page: '0' };
      await world.services.threads.put(writer(world), 't0', { location }, {});
      await world.pass(2);
      assert.equal(last(stays)?.type, 'thread');
    }));

  test('2,000 events of a list are stored, and a reader who missed more begins with a snapshot', () =>
    withStreams({}, async (world) => {
      const threads = 50;
      await seed(world, threads);
      const { broker, store } = world.engine;
      const find = store.threads.find.bind(store.threads);
      let reads = 0;
      // Each reading finds another revision, as if the thread had changed.
      store.threads.find = async (...of) => {
        const found = await find(...of);
        reads += 1;
        return found === null ? null : { ...found, revision: `r${reads}` };
      };
      const { parser } = await open(world, 'u1');
      const { lastEventId } = parser;
      const changeUpTo = async (events: number) => {
        while (parser.events.length <= events) {
          const sent = parser.events.length + threads;
          for (let index = 0; index < threads; index += 1)
            await broker.publish({ type: 'conversation', ...world.scope, threadId: `t${index}` });
          world.clock.move(1_000);
          await world.until('the events', () => parser.events.length === sent);
        }
      };
      const firstEvent = async () => {
        const sink = await open(world, 'u2', 'threads', lastEventId);
        await world.until('an event', () => sink.parser.events.length > 0);
        return sink.parser.events[0]?.type;
      };
      await changeUpTo(2_000);
      assert.equal(await firstEvent(), 'thread');
      await changeUpTo(2_001);
      assert.equal(await firstEvent(), 'snapshot');
    }));
});

describe('the end of access to conversations', () => {
  test('removed members are checked by name, and other readers are not', () =>
    withStreams({}, async (world) => {
      await seed(world);
      const sinks = new Map<string, SimulatedSink>();
      for (const userId of USERS) sinks.set(userId, await open(world, userId));
      const count = counted(world);
      // A process that begins to follow the record of a project checks all streams once.
      await world.pass(1);
      await world.until('the check of all streams', () => count.named >= USERS.length);
      const before = count.named;
      const removed = USERS.slice(0, 100);
      await Promise.all(
        removed.map((userId) =>
          world.services.memberships.change(writer(world), 'g', { remove: [userId] }, {}),
        ),
      );
      await world.until('the ends', () => removed.every((userId) => sinks.get(userId)?.ended === 'soon'));
      await world.pass(1);
      assert.equal(sinks.get('u200')?.ended, null);
      const named = count.named - before;
      assert.ok(named <= 2 * removed.length, `${named} users were checked`);
    }));

  test('a group that is set deleted ends the streams of its readers', () =>
    withStreams({}, async (world) => {
      await seed(world);
      const sinks = [await open(world, 'u1'), await open(world, 'u2', 'messages')];
      await world.services.groups.put(writer(world), 'g', { status: 'deleted' }, {});
      await world.until('the ends', () => sinks.every(({ ended }) => ended === 'soon'));
      assert.equal(last(sinks[0] as SimulatedSink)?.data.error, 'group_not_found');
    }));
});

describe('a change that nothing was published of', () => {
  test('a thread outside of the newest 50 is shown as it is within ten seconds, and a removed one is removed', () =>
    withStreams({}, async (world) => {
      await seed(world, 120);
      const sink = await open(world, 'u1');
      const { store } = world.engine;
      const shown = new Set(sink.parser.events[0]?.data.threads.map(({ id }: { id: string }) => id));
      const [renamed, removed, seen] = Array.from({ length: 120 }, (_, index) => `t${index}`).filter(
        (id) => !shown.has(id),
      ) as [string, string, string];
      const context = (revision: string) => ({ ...BY_TEST, now: world.clock.now(), revision });
      await store.threads.put(world.project, renamed, { name: 'Renamed' }, context('a'));
      await store.threads.delete(world.project, removed, context('b'));
      await store.threads.markSeen(world.project, seen, { userId: 'u2', messageId: null }, context('c'));
      await world.pass(10);
      await world.until('the changes', () => sink.parser.events.length >= 4);
      const found = sink.parser.events.slice(1).map(({ type, data }) => [data.id, type, data.name]);
      assert.deepEqual(
        found.toSorted(),
        [
          [renamed, 'thread', 'Renamed'],
          [removed, 'removed', undefined],
          [seen, 'thread', 'T'],
        ].toSorted(),
      );
      // Once: what is known is not sent again.
      await world.pass(20);
      assert.equal(sink.parser.events.length, 4);
    }));

  test('a stored message that was not published is sent to its readers within a second', () =>
    withStreams({}, async (world) => {
      await seed(world);
      const sink = await open(world, 'u1', 'messages');
      await putMessage(world, 'm');
      await world.pass(1);
      await world.until('the message', () => last(sink)?.type === 'message');
      assert.equal(last(sink)?.data.id, 'm');
    }));
});

/** Differences that count how many of them were read. */
class CountedDifferences extends Map<string, null> {
  read = 0;

  override *[Symbol.iterator](): MapIterator<[string, null]> {
    for (const entry of super.entries()) {
      this.read += 1;
      yield entry;
    }
  }
}

class BegunList extends ThreadListFeed {
  start(): Promise<void> {
    return this.begin();
  }
}

describe('a group with very many threads', () => {
  test('a list that begins again anyway compares no more threads', () =>
    withStreams({}, async (world) => {
      await seed(world);
      const { engine, project, clock } = world;
      const log = pino({ level: 'silent' });
      const parts = {
        ...{ store: engine.store, reads: new FeedReads(), clock, log, ended: () => {} },
        beginnings: new Beginnings(),
      };
      const list = new BegunList(
        project,
        ANY,
        ['threads'],
        { ...parts, pageTokens: { next: () => null } },
        async () => {},
      );
      await list.start();
      const gone = () =>
        new CountedDifferences(Array.from({ length: 10_000 }, (_, index) => [`gone${index}`, null]));
      const [first, second] = [gone(), gone()];
      list.compare(first);
      list.compare(second);
      assert.deepEqual([first.read, second.read], [1_002, 1]);
    }));
});
