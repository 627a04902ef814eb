/**
 * What it costs a process to follow its groups: counted in statements, records and messages, by a clock that the test moves. The
 * cost does not depend on the number of processes, nor on what is written elsewhere.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BY_TEST } from '../support/origin.ts';
import { orderAll } from '../support/recorded.ts';
import { testSettings } from '../support/server.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const SECONDS = 4;
/** Reads of the store that following makes. */
const READS = {
  changes: ['read', 'readTopics'],
  eligibility: ['filter', 'findMany'],
  durablePresence: ['find', 'list'],
  groups: ['exists'],
} as const;

interface Cost {
  statements: number;
  records: number;
  messages: number;
}

/** Counts what the hubs of a world read and receive. */
function counted({ engine: { store, presence } }: StreamWorld): Cost {
  const cost: Cost = { statements: 0, records: 0, messages: 0 };
  for (const [port, names] of Object.entries(READS)) {
    const methods = store[port as keyof typeof READS] as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >;
    for (const name of names) {
      const read = methods[name]?.bind(methods);
      assert.ok(read !== undefined);
      methods[name] = async (...args) => {
        cost.statements += 1;
        const answer = await read(...args);
        if (name === 'readTopics') cost.records += (answer as { records: unknown[] }).records.length;
        return answer;
      };
    }
  }
  const publish = presence.publish.bind(presence);
  presence.publish = async (...args) => {
    cost.messages += 1;
    return publish(...args);
  };
  return cost;
}

/** Every process follows `g`; what is written meanwhile is in other groups, but for one change of `g` each second. */
async function costOf(processes: number, otherWrites: number): Promise<Cost> {
  let each: Cost = { statements: 0, records: 0, messages: 0 };
  const writesPerSecond = Array.from({ length: processes }, () => undefined);
  await withStreams({ mergeMs: 0, writesPerSecond }, async (world) => {
    const { store } = world.engine;
    await world.seed(['a', 'b']);
    const groups = Array.from({ length: otherWrites }, (_, index) => ({
      id: `other${index}`,
      name: 'O',
      members: ['a', 'b'],
    }));
    await world.services.batches.apply(
      { project: world.project, ...BY_TEST },
      { body: Buffer.from(JSON.stringify({ groups })), dryRun: false },
    );
    const sinks: SimulatedSink[] = [];
    for (let hub = 0; hub < processes; hub += 1) sinks.push(await world.open({}, undefined, hub));
    await world.pass(1);
    const cost = counted(world);
    const context = () => ({ ...BY_TEST, now: world.clock.now(), revision: 'r' });
    for (let second = 0; second < SECONDS; second += 1) {
      // Written past the services, so that nothing is published: the record alone has it.
      await Promise.all(
        groups.map(({ id: groupId }) => {
          const location = JSON.stringify({ line: `${second}`, page: '1' });
          const update = { userId: 'a', groupId, region: '{"page":"1"}', location };
          return store.durablePresence.put(world.project, update, context());
        }),
      );
      const location = JSON.stringify({ line: `${second}`, page: '1' });
      const update = { userId: 'b', groupId: 'g', region: '{"page":"1"}', location };
      await store.durablePresence.put(world.project, update, context());
      await orderAll(store);
      const shown = sinks.map(({ parser }) => parser.events.length);
      await world.pass(1);
      await world.until('the change on every process', () =>
        sinks.every(({ parser }, index) => parser.events.length > (shown[index] as number)),
      );
    }
    const share = 1 / (processes * SECONDS);
    each = {
      statements: cost.statements * share,
      records: cost.records * share,
      messages: cost.messages * share,
    };
  });
  return each;
}

describe('the cost of following groups', () => {
  test('statements, records and messages of each process are flat while processes and the writes of other groups grow tenfold', async () => {
    const [few, manyProcesses, manyWrites] = [
      await costOf(10, 10),
      await costOf(100, 10),
      await costOf(10, 100),
    ];
    for (const cost of [manyProcesses, manyWrites]) {
      assert.ok(
        cost.statements <= few.statements * 1.25,
        `${cost.statements} statements, not ${few.statements}`,
      );
      assert.ok(cost.messages <= few.messages * 1.25, `${cost.messages} messages, not ${few.messages}`);
      assert.equal(cost.records, few.records);
    }
    // A reading that finds the change, one that finds no more, and the named user: compared, read again, and compared again.
    assert.ok(few.statements <= 10, `${few.statements} statements`);
  });

  test('a stream is opened with statements of its own project, however many projects the process follows', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { services, engine, project } = world;
      const { customerId } = testSettings('');
      const customer = { customerId: customerId as string, ...BY_TEST };
      for (let index = 0; index < 20; index += 1) {
        const { id } = await services.projects.create(customer, { name: `P${index}` });
        const other = await engine.store.projects.find(id);
        assert.ok(other !== null);
        const caller = { ...BY_TEST, projectId: id, project: other.key, sessionId: null };
        await services.changeStreams.open({ caller }, null, {});
      }
      await world.pass(2);
      const cost = counted(world);
      const caller = { ...BY_TEST, projectId: 'test-project', project, sessionId: null };
      const filter = { groupId: 'g', location: null, resolved: null };
      await services.conversationStreams.openThreads({ caller, groupId: 'g' }, filter, ['threads'], null);
      assert.ok(cost.statements <= 5, `${cost.statements} statements`);
    }));
});
