import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { entriesText, positionId, snapshotFrame } from '../../src/realtime/event-text.ts';
import { arrived } from '../../src/realtime/reader-event.ts';
import { withStreams } from './stream-world.ts';

const USERS = Array.from({ length: 300 }, (_, index) => `u${index + 1_000}`);

/** Where a reader would go on who takes an ID where it reads its line, whether or not the event is whole. */
const eagerId = (text: string) => [...text.matchAll(/^id: (.*)\n/gm)].at(-1)?.[1] ?? '';

describe('a reader who takes an ID before its event is whole', () => {
  test('has no ID of a snapshot that breaks off, and all of it when it comes back', () =>
    withStreams({}, async (world) => {
      await world.seed(USERS);
      for (const id of USERS) await world.move(id, 'x'.repeat(200));
      const whole = await world.open();
      const text = whole.written.join('');
      assert.ok(whole.written.length > 1, 'in pieces');
      for (const length of [30, 1_000, text.length - 40]) {
        const back = await world.open({}, eagerId(text.slice(0, length)));
        assert.equal(back.parser.events[0]?.type, 'snapshot', `${length} of ${text.length}`);
        assert.equal(back.parser.events[0]?.data.users.length, USERS.length);
      }
      assert.equal(eagerId(text), whole.parser.lastEventId);
    }));

  test('has no ID of a change whose data have not come', () => {
    const idAt = (offset: number) => positionId({ epoch: 'e', offset });
    const entries = [1, 2].map((offset) => ({ offset, event: arrived('a', `{"page":"${offset}"}`, null) }));
    const { head, tail } = snapshotFrame(idAt(1));
    const text = head + tail + entriesText(entries, idAt, 2);
    for (let length = 0; length < text.length; length += 1) {
      const taken = text.slice(0, length);
      const lines = taken.split('\n').slice(0, -1);
      const count = (field: string) => lines.filter((line) => line.startsWith(field)).length;
      assert.ok(count('id: ') <= count('data: '), taken);
    }
  });
});
