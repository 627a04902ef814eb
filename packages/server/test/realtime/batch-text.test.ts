import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { arrived } from '../../src/realtime/events/reader-event.ts';
import { type BatchContent, BatchText } from '../../src/realtime/text/batch-text.ts';
import { positionId } from '../../src/wire/event-text.ts';
import { withStreams } from './stream-world.ts';

const idsOf = (epoch: string) => (offset: number) => positionId({ epoch, offset });

const content: BatchContent = {
  entries: [
    { offset: 1, event: arrived('a', '{"page":"1"}') },
    { offset: 2, event: arrived('a', '{"page":"2"}', '{"page":"1"}') },
  ],
  isMerged: false,
  idAt: idsOf('e'),
  to: 3,
};

describe('the text of a batch', () => {
  test('a batch of events is written once for channels that show the same events up to the same offset', () => {
    const texts = new BatchText();
    const text = texts.of(content);
    assert.equal(texts.of({ ...content, entries: [...content.entries] }), text);
  });

  test('merged events are written as fewer, whose number is known for the metrics', () => {
    const texts = new BatchText();
    texts.of(content);
    assert.equal(texts.size, 2);
    texts.of({ ...content, isMerged: true });
    assert.equal(texts.size, 1);
  });

  test('a stored batch holds the memory of its own bytes alone, as server-sent events and as frames', () => {
    const text = new BatchText().of(content);
    for (const { length, buffer } of [text.sse.piece(0), text.frames('1').piece(0)])
      assert.equal(buffer.byteLength, length);
  });

  test('a batch with other events, another offset or another merge is written as a separate text', () => {
    for (const other of [
      { to: 4 },
      { idAt: idsOf('f') },
      { isMerged: true },
      { entries: content.entries.slice(0, 1) },
      { entries: content.entries.toReversed() },
    ]) {
      const texts = new BatchText();
      const text = texts.of(content);
      const changed = { ...content, ...other };
      assert.notEqual(texts.of(changed), text);
      assert.deepEqual(texts.of(changed).sse.piece(0), new BatchText().of(changed).sse.piece(0));
    }
  });
});

test('readers with different filters that show an event are sent the same bytes', () =>
  withStreams({ users: ['a'] }, async (world) => {
    const filters = [null, { location: '{"page":"1"}', partial: true }];
    const sinks = await Promise.all(
      filters.map((location) => world.open({ filter: { location, excludeDurable: false } })),
    );
    await world.move('a', '1');
    await world.until('the arrival', () => sinks.every(({ written }) => written.length === 2));
    assert.equal(new Set(sinks.map(({ written }) => written[1])).size, 1);
  }));
