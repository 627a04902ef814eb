import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { arrived } from '../../src/realtime/events/reader-event.ts';
import { SharedEntries } from '../../src/realtime/events/shared-entries.ts';
import { BY_TEST } from '../support/origin.ts';
import { recordedLog } from '../support/recorded-log.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

interface Line {
  readonly level: number;
  readonly groupId?: string;
  readonly err?: { readonly message: string };
}

/** The causes of an exception in a stream. */
const OCCASIONS: Readonly<Record<string, (world: StreamWorld) => unknown>> = {
  'an event': (world) => world.move('a', '1'),
  'a heartbeat': ({ clock }) => clock.move(15_000),
  'its end': ({ services, project }) =>
    services.groups.put({ project, ...BY_TEST }, 'g', { status: 'deleted' }, {}),
};

describe('an exception in a stream', () => {
  for (const [occasion, happen] of Object.entries(OCCASIONS)) {
    test(`an exception at ${occasion} of one stream ends that stream, and is logged`, async () => {
      const { log, lines } = recordedLog<Line>('error');
      await withStreams({ log, users: ['a', 'b'] }, async (world) => {
        const viewer = { viewer: { userId: 'b' } };
        const [broken, host] = [await world.open(viewer), await world.open()];
        broken.defect = new Error('broken');
        await happen(world);
        await world.until('the end', () => broken.ended !== null);
        await world.pass(1);
        assert.equal(broken.ended, 'at once');
        assert.equal(world.hubs[0]?.streamCount, 1);
        assert.deepEqual(
          lines.map(({ level, groupId, err }) => [level, groupId, err?.message]),
          [[50, 'g', 'broken']],
        );
        await world.services.groups.put(
          { project: world.project, ...BY_TEST },
          'g',
          { status: 'active' },
          {},
        );
        await world.move('b', '9');
        await world.until('what follows', () => host.changes.at(-1)?.data.id === 'b');
      });
    });
  }

  test('an exception in the text for all readers gives each of them a snapshot', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const sink = await world.open();
      // No Date can have this time, so the text of the event throws.
      const update = {
        type: 'durable',
        userId: 'a',
        location: '{"page":"1"}',
        at: 9e15,
        from: null,
      } as const;
      await world.engine.presence.publish(world.scope, update, world.clock.now());
      await world.pass(2);
      await world.until('a snapshot', () => sink.parser.events.length === 2);
      assert.equal(sink.parser.events[1]?.type, 'snapshot');
      await world.move('b', '1');
      await world.until('what follows', () => sink.changes.length === 1);
      assert.equal(sink.ended, null);
    }));
});

test('the last 1,000 events of a large batch are stored for readers who resume', () => {
  const entries = new SharedEntries();
  const recent = entries.newList(0);
  const event = arrived('a', '{"page":"1"}');
  recent.add(Array.from({ length: 300_000 }, (_, index) => entries.entryOf(index + 1, event)));
  assert.deepEqual(recent.after(300_000), []);
  assert.equal(recent.after(299_000)?.length, 1_000);
  assert.equal(recent.after(298_999), null);
});
