import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writeContext } from '../../src/core/changes/write-context.ts';
import { readProfiles } from '../../src/core/roster/user-profiles.ts';
import { ServiceError } from '../../src/core/service-error.ts';
import type { PresenceStore, PresenceWatcher } from '../../src/presence/presence-store.ts';
import type { EventSession } from '../../src/realtime/sessions/event-session.ts';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import { BY_TEST } from '../support/origin.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { manyUsers, type StreamWorld, withStreams } from './stream-world.ts';

const READERS = 40;
const MOVES = 30;

/** Breaks the order of the last watched group, so that it is read again. */
function orderLoss(presence: PresenceStore): () => void {
  const watch = presence.watch.bind(presence);
  let last: PresenceWatcher | undefined;
  presence.watch = (scope, now, watcher) => {
    last = watcher;
    return watch(scope, now, watcher);
  };
  return () => last?.onLost();
}

const types = ({ parser }: SimulatedSink) => parser.events.map(({ type }) => type);

describe('many readers who resume at once', () => {
  for (const [where, hub] of [
    ['to where they were', 0],
    ['to another process', 1],
  ] as const) {
    test(`readers who resume ${where} get the same bytes of what they missed`, () =>
      withStreams({ writesPerSecond: [undefined, undefined], users: ['a', 'b'] }, async (world) => {
        const first = await world.open();
        const { lastEventId } = first.parser;
        for (let count = 0; count < MOVES; count += 1) await world.move('a', `${count}`);
        await world.until('all moves', () => first.parser.events.length === 1 + MOVES);
        const back = await Promise.all(
          Array.from({ length: READERS }, () => world.open({}, lastEventId, hub)),
        );
        for (const sink of back) {
          assert.deepEqual(
            sink.parser.events.map(({ data }) => data),
            first.parser.events.slice(1).map(({ data }) => data),
          );
        }
        assert.equal(new Set(back.map(({ written }) => written[0])).size, 1);
        await world.move('b', '1');
        await world.until('what follows', () => back.every((sink) => types(sink).length === MOVES + 1));
      }));
  }
});

test('other work of the process continues while all readers get a snapshot', () =>
  withStreams({}, async (world) => {
    const ids = Array.from({ length: 500 }, (_, index) => `u${index + 1_000}`);
    await world.seed(ids);
    const loseOrder = orderLoss(world.engine.presence);
    await world.moveAll(ids, 'x'.repeat(300));
    const sinks = await Promise.all(Array.from({ length: 200 }, () => world.open()));
    const writes = () => sinks.reduce((sum, { written }) => sum + written.length, 0);
    const pieces = sinks[0]?.written.length ?? 0;
    assert.ok(pieces > 10, `${pieces} pieces`);
    const before = writes();
    let [last, most] = [before, 0];
    loseOrder();
    await world.until('all snapshots', () => {
      most = Math.max(most, writes() - last);
      last = writes();
      return last >= before + sinks.length * pieces;
    });
    assert.ok(most < 256 + 2 * pieces, `${most} writes in one tick, of ${last - before}`);
  }));

test('a group of thousands of present users and their profiles are read page by page, each in a tick of its own', () =>
  withStreams({}, async (world) => {
    const ids = manyUsers(2_500);
    await world.seedWide(ids, 1, '1');
    const { project, clock } = world;
    const { store, presence } = world.engine;
    const location = '{"page":"1"}';
    const context = { ...BY_TEST, now: clock.now(), revision: 'r' };
    const put = (userId: string) =>
      store.durablePresence.put(project, { userId, groupId: 'g', region: location, location }, context);
    await Promise.all(ids.map(put));
    let ticks = 0;
    const nextTick = () => {
      ticks += 1;
      counting = setImmediate(nextTick);
    };
    let counting = setImmediate(nextTick);
    /** In which ticks a method was called. */
    const calledIn = <Name extends string>(port: Record<Name, (...args: never[]) => unknown>, name: Name) => {
      const method = port[name];
      const called: number[] = [];
      port[name] = (...args) => {
        called.push(ticks);
        return Reflect.apply(method, port, args);
      };
      return called;
    };
    const calls = [
      calledIn(presence, 'find'),
      calledIn(store.durablePresence, 'list'),
      calledIn(store.users, 'listByIds'),
    ];
    await world.open();
    await readProfiles(store, project, ids.slice(0, 300));
    clearImmediate(counting);
    for (const called of calls) {
      assert.equal(called.length, 3);
      assert.equal(new Set(called).size, 3, `${called}`);
    }
  }));

test('a snapshot right after another snapshot waits for no timer', () =>
  withStreams({ users: ['a'] }, async (world) => {
    const loseOrder = orderLoss(world.engine.presence);
    const sinks: SimulatedSink[] = [];
    for (let index = 0; index < 6_000; index += 1) sinks.push(await world.open());
    const first = sinks[0] as SimulatedSink;
    loseOrder();
    await world.until('one that is given it', () => types(first).length === 2);
    loseOrder();
    await world.until('the next one', () => types(first).length === 3);
    await world.until('all', () => sinks.every((sink) => types(sink).length >= 2));
  }));

test('at most 100 channels without readers are retained for readers who resume', () =>
  withStreams({ users: ['a'] }, async (world) => {
    const { presence, store } = world.engine;
    const loseOrder = orderLoss(presence);
    const filterOf = (page: number) => ({
      filter: { location: { location: `{"page":"${page}"}`, partial: true }, excludeDurable: false },
    });
    const hub = world.hubs[0];
    for (let page = 0; page < 300; page += 1) {
      (await world.open(filterOf(page))).onEnd();
    }
    assert.equal(hub?.streamCount, 0);
    const stays = await world.open();
    await world.pass(1);
    // Every retained filter is read again with its group.
    const list = store.durablePresence.list.bind(store);
    let read = 0;
    store.durablePresence.list = (...args) => {
      read += 1;
      return list(...args);
    };
    loseOrder();
    await world.until('a snapshot', () => types(stays).length === 2);
    await world.pass(1);
    // One for the group, which has what the open stream without a filter shows, and one for each retained filter.
    assert.equal(read, 1 + 100);
  }));

/** The most of a count that one tick of the event loop adds, until the count has grown by `total`. */
async function mostInATick(world: StreamWorld, count: () => number, total: number): Promise<number> {
  const end = count() + total;
  let [last, most] = [count(), 0];
  await world.until(`all ${total}`, () => {
    most = Math.max(most, count() - last);
    last = count();
    return last >= end;
  });
  return most;
}

describe('very many streams', () => {
  const STREAMS = 700;
  const caller = (project: StreamWorld['project']) => ({
    ...{ projectId: 'test-project', project, sessionId: null },
    ...BY_TEST,
  });
  const opened = (session: EventSession) => {
    const sink = new SimulatedSink();
    session.start(new SseSink(sink));
    return sink;
  };
  const onPage = (page: number) => ({ location: `{"page":"${page}"}`, partial: true });

  const kinds: Record<string, (world: StreamWorld, index: number) => Promise<SimulatedSink>> = {
    'presence with a filter of its own': (world, index) =>
      world.open({ filter: { location: onPage(index), excludeDurable: false } }),
    changes: async (world) => {
      const { services, project } = world;
      const sink = opened(await services.changeStreams.open({ caller: caller(project) }, null, {}));
      await world.until('all changes', () => sink.parser.events.length === 3);
      return sink;
    },
    'threads with a filter of its own': async ({ services, project }, index) => {
      const request = { caller: caller(project), groupId: 'g' };
      const filter = { groupId: 'g', location: onPage(index), resolved: null };
      return opened(await services.conversationStreams.openThreads(request, filter, ['g', index], null));
    },
  };
  for (const [kind, open] of Object.entries(kinds)) {
    test(`where each of very many streams is one of ${kind}, their heartbeats are 256 at most in one tick of the event loop`, () =>
      withStreams({ users: ['a'] }, async (world) => {
        const sinks: SimulatedSink[] = [];
        for (let index = 0; index < STREAMS; index += 1) sinks.push(await open(world, index));
        await world.pass(2);
        const comments = () => sinks.reduce((sum, { parser }) => sum + parser.comments, 0);
        const beating = mostInATick(world, comments, STREAMS);
        world.clock.move(15_000);
        const most = await beating;
        assert.ok(most <= 256, `${most} in one tick`);
      }));
  }

  test('very many readers who begin with long snapshots at once get a few hundred writes in one tick of the event loop', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(500);
      await world.seedWide(ids, 1_000, '1');
      const first = await world.open();
      const { length } = first.written;
      assert.ok(length > 20, `${length} pieces`);
      const sinks = Array.from({ length: 100 }, () => new SimulatedSink());
      const writes = () => sinks.reduce((sum, { written }) => sum + written.length, 0);
      const writing = mostInATick(world, writes, sinks.length * length);
      await Promise.all(sinks.map((sink) => world.open({}, undefined, 0, sink)));
      const most = await writing;
      // The count can see the end of one tick together with the next one.
      assert.ok(most < 2 * (256 + length), `${most} of ${sinks.length * length}`);
      await world.put('u10000', { location: { page: '2' } });
      await world.until('the change', () => sinks.every(({ changes }) => changes.length === 1));
      for (const { parser } of sinks) assert.deepEqual(parser.events[0], first.parser.events[0]);
    }));

  /** A thread whose snapshot has some 60 pieces, and a reader of it who has not begun. */
  async function longThread({ services, project }: StreamWorld) {
    const writer = { project, ...BY_TEST };
    await services.threads.put(writer, 't', { groupID: 'g', name: 'T' }, {});
    for (let index = 0; index < 25; index += 1) {
      const message = { authorID: 'a', content: [{ text: 'x'.repeat(19_000) }] };
      await services.messages.put(writer, 't', `m${index}`, message, {});
    }
    const request = { caller: caller(project), groupId: 'g' };
    return () => services.conversationStreams.openMessages(request, 't', null);
  }

  test('very many readers who begin with long snapshots of messages get a few hundred writes in one tick of the event loop', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const open = await longThread(world);
      const first = opened(await open());
      await world.until('the snapshot', () => first.parser.events.length === 1);
      const { length } = first.written;
      const sessions = await Promise.all(Array.from({ length: 50 }, open));
      const sinks = sessions.map(() => new SimulatedSink());
      const writes = () => sinks.reduce((sum, { written }) => sum + written.length, 0);
      const writing = mostInATick(world, writes, sinks.length * length);
      for (const [index, session] of sessions.entries())
        session.start(new SseSink(sinks[index] as SimulatedSink));
      const most = await writing;
      assert.ok(most < 2 * (256 + length), `${most} of ${sinks.length * length}`);
      const message = { authorID: 'a', content: [{ text: 'last' }] };
      await world.services.messages.put({ project: world.project, ...BY_TEST }, 't', 'last', message, {});
      await world.until('the message', () => sinks.every(({ changes }) => changes.length === 1));
      for (const { parser } of sinks) assert.deepEqual(parser.events[0], first.parser.events[0]);
    }));

  test('one long snapshot of messages is made in one tick of the event loop, however many readers begin', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const open = await longThread(world);
      await open();
      let made = 0;
      const count = () => {
        made += 1;
      };
      const making = mostInATick(world, () => made, 30);
      const opening = Array.from({ length: 30 }, () => open().then(count));
      assert.equal(await making, 1);
      await Promise.all(opening);
    }));

  test('some 100 connections are released in one tick of the event loop when the streams of very many pages close at once', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const sinks: SimulatedSink[] = [];
      for (let index = 0; index < STREAMS; index += 1)
        sinks.push(await world.open({ viewer: { userId: 'a' }, connection: `page${index}` }));
      const { presence } = world.engine;
      const release = presence.release.bind(presence);
      const released = new Set<string>();
      presence.release = (request) => {
        released.add(request.connection);
        return release(request);
      };
      const releasing = mostInATick(world, () => released.size, STREAMS - 1);
      for (const sink of sinks) sink.onEnd();
      // One of them is opened again before its turn.
      await world.open({ viewer: { userId: 'a' }, connection: `page${STREAMS - 1}` });
      const most = await releasing;
      // The first one is released at once, before the others are known.
      assert.ok(most <= 101, `${most} in one tick`);
      await world.pass(1);
      assert.equal(released.has(`page${STREAMS - 1}`), false);
    }));

  const removeGroup = async ({ engine: { store }, project, clock }: StreamWorld) => {
    await store.groups.delete(project, 'g', writeContext(clock, BY_TEST));
    clock.move(1_000);
  };
  let isRevoked = false;
  const checkCredentials = () => {
    if (isRevoked) throw new ServiceError('expired_access_token', 'expired');
  };
  const revoke = async ({ engine }: StreamWorld) => {
    isRevoked = true;
    await engine.broker.publish({ type: 'project', projectId: 'test-project' });
  };
  for (const [what, request, end] of [
    ['whose group is removed', {}, removeGroup],
    ['of client tokens whose group is removed', { viewer: { userId: 'a' } }, removeGroup],
    ['whose token is not accepted any more', { credentials: 'same', checkCredentials }, revoke],
    ['whose tokens are not accepted any more', { checkCredentials }, revoke],
  ] as const) {
    test(`very many streams ${what} end 100 at most in one tick of the event loop`, () =>
      withStreams({ users: ['a'] }, async (world) => {
        isRevoked = false;
        const sinks: SimulatedSink[] = [];
        for (let index = 0; index < STREAMS; index += 1) sinks.push(await world.open(request));
        const ended = () => sinks.filter((sink) => sink.ended !== null).length;
        const ending = mostInATick(world, ended, STREAMS);
        await end(world);
        const most = await ending;
        assert.ok(most <= 100, `${most} in one tick`);
        const errors = new Set(sinks.map(({ parser }) => parser.events.at(-1)?.data.error));
        assert.deepEqual([...errors], [end === revoke ? 'expired_access_token' : 'group_not_found']);
      }));
  }

  test('the eligibility of thousands of users whose status has changed is read in a tick for each 1,000 of them', () =>
    withStreams({}, async (world) => {
      const ids = manyUsers(5_000);
      await world.seedWide(ids, 1, '1');
      const sink = await world.open();
      const { filter } = world.engine.store.eligibility;
      let reads = 0;
      world.engine.store.eligibility.filter = (...parameters) => {
        reads += 1;
        return filter(...parameters);
      };
      const reading = mostInATick(world, () => reads, 5);
      const body = { users: ids.map((id) => ({ id, status: 'deleted' })) };
      await world.services.batches.apply(
        { project: world.project, ...BY_TEST },
        { body: Buffer.from(JSON.stringify(body)), dryRun: false },
      );
      assert.equal(await reading, 1);
      await world.until('all departures', () => sink.changes.length === ids.length);
      assert.deepEqual(
        new Set(sink.changes.map(({ type, data }) => `${type} ${data.reason}`)),
        new Set(['departed removed']),
      );
    }));
});
