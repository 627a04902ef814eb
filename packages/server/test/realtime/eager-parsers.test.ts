import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { arrived } from '../../src/realtime/events/reader-event.ts';
import { entryEvents, eventBlock, positionId, snapshotFrame } from '../../src/wire/event-text.ts';
import { withStreams } from './stream-world.ts';

const USERS = Array.from({ length: 300 }, (_, index) => `u${index + 1_000}`);

/** The ID from which a parser resumes that stores an ID when it reads the line, before the event is complete. */
const eagerId = (text: string) => [...text.matchAll(/^id: (.*)\n/gm)].at(-1)?.[1] ?? '';

describe('a parser that stores an ID before its event is complete', () => {
  test('a snapshot that breaks off leaves no ID, and comes whole after a reconnect', () =>
    withStreams({ users: USERS }, async (world) => {
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

  test('an event whose data did not arrive leaves no ID', () => {
    const idAt = (offset: number) => positionId({ epoch: 'e', offset });
    const entries = [1, 2].map((offset) => ({ offset, event: arrived('a', `{"page":"${offset}"}`, null) }));
    const { head, tail } = snapshotFrame(idAt(1));
    const text = head + tail + entryEvents(entries, idAt, 2).map(eventBlock).join('');
    for (let length = 0; length < text.length; length += 1) {
      const taken = text.slice(0, length);
      const lines = taken.split('\n').slice(0, -1);
      const count = (field: string) => lines.filter((line) => line.startsWith(field)).length;
      assert.ok(count('id: ') <= count('data: '), taken);
    }
  });
});
