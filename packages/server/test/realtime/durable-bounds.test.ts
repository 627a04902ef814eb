/** Readers who resume after a bound ended durable locations. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalLocation } from '@rollcall/protocol';
import type { GroupEvent } from '../../src/presence/presence-store.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const [PAGE_1, PAGE_2] = [canonicalLocation({ page: '1' }), canonicalLocation({ page: '2' })];
const AT_PAGE_1 = { filter: { location: { location: PAGE_1, partial: false }, excludeDurable: false } };
/** Two processes; a second durable location of a user ends the first. */
const ONE_EACH = { writesPerSecond: [1_000, 1_000], durableBounds: { locations: 1, bytes: 1_000 } };

/** Sets the location in the store, and returns its event. */
async function set(world: StreamWorld, location: string): Promise<GroupEvent> {
  const update = { userId: 'a', groupId: 'g', region: location, location };
  const stamp = { now: world.clock.now(), revision: location, ...BY_TEST };
  const outcome = await world.engine.store.durablePresence.put(world.project, update, stamp);
  assert.ok(outcome.kind === 'set');
  const { at, endedTo } = outcome;
  return { type: 'durable', userId: 'a', location, at, from: null, ...(endedTo !== null && { endedTo }) };
}

const publish = (world: StreamWorld, event: GroupEvent) =>
  world.engine.presence.publish(world.scope, event, world.clock.now());

/** The durable locations of a reader after all of these streams, one after the other. */
function known(...sinks: readonly SimulatedSink[]): unknown[] {
  const model = new ReaderModel();
  for (const sink of sinks) for (const event of sink.parser.events) model.take(event);
  return model.entries().flatMap(({ durable }) => (durable === undefined ? [] : [durable.location]));
}

/** A reader who has a user at page 1, and is disconnected. */
async function cutOff(world: StreamWorld): Promise<SimulatedSink> {
  await world.seed(['a']);
  await set(world, PAGE_1);
  const sink = await world.open(AT_PAGE_1);
  assert.deepEqual(known(sink), [{ page: '1' }]);
  sink.destroy();
  return sink;
}

const lastIdOf = (sink: SimulatedSink) => sink.parser.events.at(-1)?.id;

describe('a durable location that ended because of a bound', () => {
  test('a reader who resumes on another process after the end knows that the durable location ended', () =>
    withStreams(ONE_EACH, async (world) => {
      const before = await cutOff(world);
      await publish(world, await set(world, PAGE_2));
      const back = await world.open(AT_PAGE_1, lastIdOf(before), 1);
      await world.move('a', '1');
      await world.until('what was missed', () => back.parser.events.length > 0);
      assert.deepEqual(known(before, back), []);
    }));

  test('a reader who resumes between the end and its event knows that the durable location ended', () =>
    withStreams(ONE_EACH, async (world) => {
      const before = await cutOff(world);
      const event = await set(world, PAGE_2);
      const back = await world.open(AT_PAGE_1, lastIdOf(before), 1);
      await publish(world, event);
      await world.until('the end', () => known(before, back).length === 0);
    }));

  test('a reader who has the durable location gets one departed event with reason removed', () =>
    withStreams(ONE_EACH, async (world) => {
      await world.seed(['a']);
      await set(world, PAGE_1);
      const sink = await world.open(AT_PAGE_1);
      await publish(world, await set(world, PAGE_2));
      await publish(world, await set(world, canonicalLocation({ page: '3' })));
      await set(world, PAGE_1).then((event) => publish(world, event));
      await world.until('the new one', () => known(sink).length === 1 && sink.parser.events.length > 2);
      assert.deepEqual(
        sink.parser.events.slice(1).map(({ type, data }) => [type, data.reason]),
        [
          ['departed', 'removed'],
          ['durable', undefined],
        ],
      );
    }));
});
