/** Users whose membership ends and begins anew while their group is read. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { canonicalLocation } from '@rollcall/protocol';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import type { Incarnation } from '../../src/values/incarnation.ts';
import { BY_TEST } from '../support/origin.ts';
import { ReaderModel } from './reader-model.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

/** Runs a task right before the next page of presence is read, when the group is watched already. */
function beforeReading(presence: PresenceStore, task: () => Promise<void>): void {
  const find = presence.find.bind(presence);
  presence.find = async (reading) => {
    presence.find = find;
    await task();
    return find(reading);
  };
}

/** Each event reaches a watcher in an event-loop tick of its own, as events of another server can. */
function deliverOneByOne(presence: PresenceStore): void {
  const watch = presence.watch.bind(presence);
  presence.watch = (scope, now, watcher) => {
    let last = Promise.resolve();
    const onEvent: typeof watcher.onEvent = (...event) => {
      last = last.then(() => nextIteration()).then(() => watcher.onEvent(...event));
    };
    return watch(scope, now, { onEvent, onLost: () => watcher.onLost() });
  };
}

/** The user arrives for a membership that has ended: a process knew no better for up to a second. */
async function arriveOutdated({ engine, project, scope, clock }: StreamWorld): Promise<void> {
  const { incarnation } = await engine.store.eligibility.find(project, 'g', 'a');
  const location = canonicalLocation({ page: '1', line: '1' });
  const now = clock.now();
  await engine.presence.set({
    ...{ ...scope, userId: 'a', incarnation: (incarnation as Incarnation) - 1, region: location, location },
    ...{ now, expiresAt: now + 30_000 },
  });
}

const lines = ({ parser }: SimulatedSink) =>
  ReaderModel.of(parser.events)
    .entries()
    .flatMap(({ ephemeral }) => ephemeral.locations.map(({ line }) => line));

describe('a membership that ends and begins anew while the group is read', () => {
  test('a user who is present before and after it is in the snapshot', () =>
    withStreams({ users: ['a'] }, async (world) => {
      const { services, project, engine } = world;
      beforeReading(engine.presence, async () => {
        await world.move('a', '1');
        for (const change of [{ remove: ['a'] }, { add: ['a'] }])
          await services.memberships.change({ project, ...BY_TEST }, 'g', change, {});
        await world.move('a', '2');
      });
      assert.deepEqual(lines(await world.open()), ['2']);
    }));

  for (const [how, deliver] of [
    ['together', () => {}],
    ['one by one', deliverOneByOne],
  ] as const) {
    test(`a user who is present for it after an outdated update is in the snapshot, where events come ${how}`, () =>
      withStreams({ users: ['a'] }, async (world) => {
        const { presence } = world.engine;
        deliver(presence);
        beforeReading(presence, async () => {
          await arriveOutdated(world);
          await world.move('a', '2');
        });
        assert.deepEqual(lines(await world.open()), ['2']);
      }));
  }
});
