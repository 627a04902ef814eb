/**
 * Readings of a conversation that take several reads of the store, between which a write is committed: on PostgreSQL the reads go
 * through several connections, so the one that is sent last can be answered first.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
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

/** The group `g` with its thread `t`. */
async function seed(world: StreamWorld): Promise<void> {
  await world.seed(['u']);
  await putThread(world, 'g', 'Before');
}

/** The next call of the list of messages is sent after the write. */
function delayed({ engine }: StreamWorld, write: () => Promise<unknown>): void {
  const { messages } = engine.store;
  const { list } = messages;
  Object.assign(messages, {
    async list(...parameters: Parameters<typeof list>) {
      messages.list = list;
      await write();
      return list(...parameters);
    },
  });
}

async function openMessages(world: StreamWorld): Promise<SimulatedSink> {
  const request = { caller: callerOf(world), groupId: 'g' };
  const session = await world.services.conversationStreams.openMessages(request, 't', null);
  const sink = new SimulatedSink();
  sink.onEnd = () => session.close();
  session.start(new SseSink(sink));
  return sink;
}

describe('a stream of messages that is opened while its thread is written', () => {
  test('a thread that is renamed while its snapshot is read has the new name in the snapshot, or in a thread event', () =>
    withStreams({}, async (world) => {
      await seed(world);
      delayed(world, () => putThread(world, 'g', 'After'));
      const { parser } = await openMessages(world);
      await world.pass(3);
      const names = parser.events.map(({ type, data }) =>
        type === 'snapshot' ? data.thread.name : data.name,
      );
      assert.equal(names.at(-1), 'After');
    }));
});
