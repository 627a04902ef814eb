import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Logger, pino } from 'pino';
import { arrived } from '../../src/realtime/reader-event.ts';
import { RecentEntries } from '../../src/realtime/recent-entries.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const changes = ({ parser }: SimulatedSink) => parser.events.filter(({ type }) => type !== 'snapshot');

interface Line {
  readonly level: number;
  readonly groupId?: string;
  readonly err?: { readonly message: string };
}

function listening(): { log: Logger; lines: Line[] } {
  const lines: Line[] = [];
  return { lines, log: pino({ level: 'error' }, { write: (text) => lines.push(JSON.parse(text)) }) };
}

/** What makes a broken stream throw. */
const OCCASIONS: Readonly<Record<string, (world: StreamWorld) => unknown>> = {
  'a telling': (world) => world.move('a', '1'),
  'a heartbeat': ({ clock }) => clock.move(15_000),
  'its end': ({ services, project }) => services.groups.put(project, 'group', 'g', { status: 'deleted' }, {}),
};

describe('a defect that throws', () => {
  for (const [occasion, happen] of Object.entries(OCCASIONS)) {
    test(`at ${occasion} of one stream ends that stream, and the log has it`, async () => {
      const { log, lines } = listening();
      await withStreams({ log }, async (world) => {
        await world.seed(['a', 'b']);
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
        await world.services.groups.put(world.project, 'group', 'g', { status: 'active' }, {});
        await world.move('b', '9');
        await world.until('what follows', () => changes(host).at(-1)?.data.id === 'b');
      });
    });
  }

  test('at what all are told gives all a snapshot', () =>
    withStreams({}, async (world) => {
      await world.seed(['a', 'b']);
      const sink = await world.open();
      // No date is so late: this cannot be put into words.
      const told = { type: 'durable', userId: 'a', location: '{"page":"1"}', at: 9e15, left: null } as const;
      await world.engine.presence.tell(world.scope, told, world.clock.now());
      await world.pass(2);
      await world.until('a snapshot', () => sink.parser.events.length === 2);
      assert.equal(sink.parser.events[1]?.type, 'snapshot');
      await world.move('b', '1');
      await world.until('what follows', () => changes(sink).length === 1);
      assert.equal(sink.ended, null);
    }));
});

test('however much is told at once is kept as far as there is room', () => {
  const recent = new RecentEntries(0);
  const event = arrived('a', '{"page":"1"}');
  recent.add(Array.from({ length: 300_000 }, (_, index) => ({ offset: index + 1, event })));
  assert.equal(recent.count, 300_000);
  assert.equal(recent.after(299_000)?.length, 1_000);
  assert.equal(recent.after(298_999), null);
});
