/**
 * Readings of a conversation that take several reads of the store, between which a write is committed: on PostgreSQL the reads go
 * through several connections, so the one that is sent last can be answered first.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../src/core/service-error.ts';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import type { ThreadPosition } from '../../src/store/ports/threads.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { plain } from '../contract/store/conversation.ts';
import { BY_TEST } from '../support/origin.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const writer = ({ project }: StreamWorld) => ({ project, ...BY_TEST });
const callerOf = (world: StreamWorld) => ({
  ...writer(world),
  projectId: 'test-project',
  sessionId: null,
});

const putThread = (world: StreamWorld, groupID: string, name: string) =>
  world.services.threads.put(writer(world), 't', { groupID, name }, {});

/** The group `g` with `u` and its thread `t`, and the group `h` with `v` alone. */
async function seed(world: StreamWorld): Promise<void> {
  await world.seed(['u', 'v']);
  await world.services.groups.put(writer(world), 'g', { members: ['u'] }, {});
  await world.services.groups.put(writer(world), 'h', { name: 'H', members: ['v'] }, {});
  await putThread(world, 'g', 'Before');
}

/** The thread is deleted, and another one of this ID is made in the group, with a message; no notification of it comes. */
async function makeAgain(
  { engine, project, clock }: StreamWorld,
  groupId: string,
  authorId: string,
): Promise<void> {
  const { threads, messages } = engine.store;
  const context = (revision: string) => ({ ...BY_TEST, now: clock.now(), revision });
  await threads.delete(project, 't', context('r1'));
  await threads.put(project, 't', { groupId, name: 'Secret' }, context('r2'));
  await messages.put(project, 't', 'm', { authorId, content: plain('secret') }, context('r3'));
}

const moveToOtherGroup = (world: StreamWorld) => makeAgain(world, 'h', 'v');

/** A read of the store, and how many calls of it come before the one that is meant. */
type Reading = readonly [
  ...(
    | readonly ['conversationFeed', 'positions']
    | readonly ['threads', 'find']
    | readonly ['messages', 'list' | 'find']
  ),
  callsBefore: number,
];

/** One call of a read is sent after the write. */
function delayed(
  world: StreamWorld,
  [portName, name, callsBefore]: Reading,
  write: () => Promise<unknown>,
): void {
  const port = world.engine.store[portName];
  const read = Reflect.get(port, name) as (...parameters: unknown[]) => Promise<unknown>;
  let calls = 0;
  Object.assign(port, {
    async [name](...parameters: unknown[]) {
      calls += 1;
      if (calls === callsBefore + 1) await write();
      return read.apply(port, parameters);
    },
  });
}

async function openMessages(world: StreamWorld, userId?: string): Promise<SimulatedSink> {
  const viewer = userId === undefined ? {} : { viewer: { userId } };
  const request = { caller: callerOf(world), groupId: 'g', ...viewer };
  const session = await world.services.conversationStreams.openMessages(request, 't', null);
  const sink = new SimulatedSink();
  sink.onEnd = () => session.close();
  session.start(new SseSink(sink));
  return sink;
}

const isNotFound = (error: unknown) => error instanceof ServiceError && error.code === 'thread_not_found';

describe('a stream of messages that is opened while its thread is written', () => {
  test('a thread that is renamed while its snapshot is read has the new name in the snapshot, or in a thread event', () =>
    withStreams({}, async (world) => {
      await seed(world);
      delayed(world, ['messages', 'list', 0], () => putThread(world, 'g', 'After'));
      const { parser } = await openMessages(world);
      await world.pass(3);
      const names = parser.events.map(({ type, data }) =>
        type === 'snapshot' ? data.thread.name : data.name,
      );
      assert.equal(names.at(-1), 'After');
    }));

  for (const [when, reading] of [
    ['its position is read', ['conversationFeed', 'positions', 0]],
    ['its group is read', ['threads', 'find', 0]],
    ['the messages of its snapshot are read', ['messages', 'list', 0]],
    ['the thread of its snapshot is read', ['threads', 'find', 1]],
  ] as const) {
    test(`a stream of messages is thread_not_found where its thread is deleted, and made in another group, before ${when}`, () =>
      withStreams({}, async (world) => {
        await seed(world);
        delayed(world, reading, () => moveToOtherGroup(world));
        await assert.rejects(openMessages(world, 'u'), isNotFound);
      }));
  }
});

describe('an open stream of messages whose thread is deleted and created again without a notification', () => {
  for (const [where, groupId, authorId] of [
    ['in its group', 'g', 'u'],
    ['in another group', 'h', 'v'],
  ] as const) {
    test(`a stream of messages ends with thread_not_found where its thread is created again ${where}, and shows nothing of that`, () =>
      withStreams({}, async (world) => {
        await seed(world);
        const sink = await openMessages(world);
        await world.pass(1);
        await makeAgain(world, groupId, authorId);
        await world.pass(3);
        await world.until('the end', () => sink.ended !== null);
        assert.deepEqual(
          sink.parser.events.map(({ type, data }) => [type, data.error]),
          [
            ['snapshot', undefined],
            ['error', 'thread_not_found'],
          ],
        );
      }));
  }
});

describe('a stream of messages whose feed begins again while its snapshot is read', () => {
  const write = (world: StreamWorld, id: string) =>
    world.services.messages.put(writer(world), 't', id, { authorID: 'u', content: [{ text: id }] }, {});

  /** The messages that the reader has in the end: those of the last snapshot, and of events after it. */
  const shown = ({ parser }: SimulatedSink) => {
    const last = parser.events.findLastIndex(({ type }) => type === 'snapshot');
    const [snapshot, ...rest] = parser.events.slice(last);
    return [...(snapshot?.data.messages ?? []), ...rest.map(({ data }) => data)].map(({ id }) => id);
  };

  /** The first list of messages that is read has `page` of what was read, and the world changes meanwhile. */
  function whileListIsRead(
    world: StreamWorld,
    change: () => Promise<void>,
    page: (at: ThreadPosition) => ThreadPosition,
  ): void {
    const { messages } = world.engine.store;
    const list = messages.list.bind(messages);
    messages.list = async (...parameters) => {
      const read = await list(...parameters);
      messages.list = list;
      await change();
      return read === null ? null : { ...read, at: page(read.at) };
    };
  }

  test('a reader has all messages after the store came back older, without those that the snapshot had of before', () =>
    withStreams({}, async (world) => {
      await seed(world);
      await write(world, 'a');
      const { conversationFeed } = world.engine.store;
      const changesSince = conversationFeed.changesSince.bind(conversationFeed);
      const positions = conversationFeed.positions.bind(conversationFeed);
      const olderStore = async () => {
        // The positions are compared, and differ, so the changes are read, which are none of the feed's position.
        conversationFeed.positions = async () => {
          conversationFeed.positions = positions;
          return new Map();
        };
        conversationFeed.changesSince = async (...parameters) => {
          conversationFeed.changesSince = changesSince;
          const { epoch } = (await changesSince(...parameters)) as ThreadPosition;
          return { kind: 'gone', epoch };
        };
        await world.pass(2);
      };
      whileListIsRead(world, olderStore, ({ epoch, position }) => ({ epoch, position: position + 5 }));
      const sink = await openMessages(world);
      await write(world, 'b');
      await world.pass(3);
      assert.deepEqual(shown(sink), ['a', 'b']);
    }));

  test('a reader has all messages after the store began a new epoch', () =>
    withStreams({}, async (world) => {
      await seed(world);
      await write(world, 'a');
      const newEpoch = () => world.engine.store.transfer.beginEpoch();
      whileListIsRead(world, newEpoch, (at) => at);
      const sink = await openMessages(world);
      await write(world, 'b');
      await world.pass(3);
      assert.deepEqual(shown(sink), ['a', 'b']);
      assert.equal(sink.ended, null);
    }));
});

test('a stream of messages whose snapshot cannot be read is rejected with the error of the store, and is not open', () =>
  withStreams({}, async (world) => {
    await seed(world);
    world.engine.store.messages.list = () => Promise.reject(new StoreUnavailableError('no answer'));
    await assert.rejects(openMessages(world), StoreUnavailableError);
    assert.equal(world.services.conversationStreams.streamCount, 0);
  }));

describe('a stream of messages whose reader loses access while the store does not answer', () => {
  for (const [who, status] of [
    ['its user is set deleted', { status: 'deleted' }],
    ['nothing happens to its user', {}],
  ] as const) {
    const ends = status.status === 'deleted';
    test(`a stream ${ends ? 'ends with user_not_found' : 'goes on'} once the store answers again, where ${who} meanwhile`, () =>
      withStreams({}, async (world) => {
        await seed(world);
        const sink = await openMessages(world, 'u');
        const { eligibility } = world.engine.store;
        const findMany = eligibility.findMany.bind(eligibility);
        eligibility.findMany = () => Promise.reject(new StoreUnavailableError('no answer'));
        await world.services.users.put(writer(world), 'u', { name: 'U', ...status }, {});
        // Notifications and the record of the change were read by then.
        await world.pass(3);
        assert.equal(sink.ended, null);
        eligibility.findMany = findMany;
        await world.pass(3);
        if (ends) {
          await world.until('the end', () => sink.ended !== null);
          assert.equal(sink.parser.events.at(-1)?.data.error, 'user_not_found');
        } else assert.equal(sink.ended, null);
      }));
  }
});
