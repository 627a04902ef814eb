import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '../../src/core/service-error.ts';
import type { Store } from '../../src/store/store.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const STREAMS = 200;

/** Counts what the Store is asked about who may watch. */
function counted(store: Store): { questions: number } {
  const count = { questions: 0 };
  for (const name of ['groupExists', 'standing', 'standings'] as const) {
    const ask = store[name].bind(store) as (...args: unknown[]) => Promise<never>;
    store[name] = (...args: unknown[]) => {
      count.questions += 1;
      return ask(...args);
    };
  }
  return count;
}

const changed = ({ engine }: StreamWorld) =>
  engine.broker.publish({ type: 'project', projectId: 'test-project' });

const turns = async () => {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
};

describe('whether streams may go on', () => {
  test('is one question for those with the same token, and one for those of a group', () =>
    withStreams({}, async (world) => {
      const ids = Array.from({ length: STREAMS / 2 }, (_, index) => `u${index}`);
      await world.seed(ids);
      const asked = { host: 0, viewers: 0 };
      const as = (who: 'host' | 'viewers', credentials: string) => ({
        credentials,
        stillAllowed() {
          asked[who] += 1;
        },
      });
      for (const userId of ids) {
        await world.open(as('host', 'host'));
        await world.open({ viewer: { userId }, ...as('viewers', userId) });
      }
      const count = counted(world.engine.store);
      await changed(world);
      await world.until('everybody', () => asked.viewers === ids.length && count.questions === 2);
      await turns();
      assert.deepEqual(asked, { host: 1, viewers: ids.length });
      assert.equal(count.questions, 2);
      await world.pass(60);
      // Four streams a second: two hosts, and two viewers.
      assert.ok(count.questions <= 2 + 2 * 60, `${count.questions} questions`);
      assert.ok(asked.host <= 1 + 60, `${asked.host} times`);
      assert.ok(asked.viewers >= 2 * ids.length, 'every viewer once more');
    }));

  test('ends all with the same token when it is refused, and nobody else', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const refuse = () => {
        throw new ServiceError('expired_access_token', 'expired');
      };
      const open = (credentials: string, stillAllowed: () => void) =>
        world.open({ credentials, stillAllowed });
      const refused = [await open('x', refuse), await open('x', refuse)];
      const other = await open('y', () => {});
      await changed(world);
      await world.until('the ends', () => refused.every(({ ended }) => ended !== null));
      await turns();
      for (const { parser } of refused)
        assert.equal(parser.events.at(-1)?.data.error, 'expired_access_token');
      assert.equal(other.ended, null);
    }));

  test('is asked of everybody within a minute also when many leave in the middle of it', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const asked = new Set<number>();
      const sinks: SimulatedSink[] = [];
      for (let index = 0; index < STREAMS; index += 1) {
        const stillAllowed = () => void asked.add(index);
        sinks.push(await world.open({ credentials: `${index}`, stillAllowed }));
      }
      await world.pass(30);
      for (const index of asked) sinks[index]?.onEnd();
      await world.pass(25);
      assert.equal(asked.size, STREAMS);
    }));

  test('is not asked again before an engine that is slow has answered', () =>
    withStreams({}, async (world) => {
      await world.seed(['a']);
      const answer = Promise.withResolvers<void>();
      let asked = 0;
      for (let index = 0; index < STREAMS; index += 1) {
        await world.open({
          credentials: `${index}`,
          stillAllowed: () => {
            asked += 1;
            return answer.promise;
          },
        });
      }
      await world.pass(30);
      assert.equal(asked, STREAMS / 50);
      answer.resolve();
      await world.pass(60);
      assert.ok(asked > STREAMS, `${asked}`);
    }));
});
