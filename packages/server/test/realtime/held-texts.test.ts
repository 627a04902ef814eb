import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HeldTexts } from '../../src/realtime/held-texts.ts';
import { textOf } from '../../src/realtime/pieces.ts';
import { SharedTexts } from '../../src/realtime/shared-texts.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { withStreams } from './stream-world.ts';

const MB = 1_048_576;
/** What one process may hold. */
const HELD_MAX_MB = 64;
/** A megabyte of snapshot. */
const USERS = Array.from({ length: 128 }, (_, index) => `u${index + 1_000}`);

const ofMegabytes = (count: number, isCurrent = false) =>
  textOf(
    Array.from({ length: count }, () => Buffer.alloc(MB)),
    isCurrent,
  );

describe('readers who stall in the middle of a snapshot', () => {
  test('each of their own, are cut off above a limit, those in the oldest first', () =>
    withStreams({}, async (world) => {
      await world.seedWide(USERS, 8_192, '2');
      const quick = await world.open();
      const stalled: SimulatedSink[] = [];
      for (let index = 0; index < HELD_MAX_MB + 16; index += 1) {
        stalled.push(await world.open({}, undefined, 0, stoppedSink()));
        await world.move('u1000', `${index}`);
        await world.until('the move', () => quick.parser.events.at(-1)?.data.location?.line === `${index}`);
      }
      const open = stalled.filter(({ ended }) => ended === null).length;
      assert.ok(open >= HELD_MAX_MB - 8 && open <= HELD_MAX_MB, `${open} are open`);
      assert.deepEqual(
        stalled.slice(-open).map(({ ended }) => ended),
        Array.from({ length: open }, () => null),
      );
      assert.equal(quick.ended, null);
      for (const sink of stalled.slice(-open)) sink.flow();
      await world.pass(2);
      assert.equal(stalled.at(-1)?.parser.lastEventId, quick.parser.lastEventId, 'the others go on');
    }));

  test('of all the same, hold it together', () =>
    withStreams({}, async (world) => {
      await world.seedWide(USERS, 8_192, '2');
      const stalled: SimulatedSink[] = [];
      for (let index = 0; index < HELD_MAX_MB + 16; index += 1)
        stalled.push(await world.open({}, undefined, 0, stoppedSink()));
      await world.move('u1000', '1');
      await world.pass(1);
      assert.ok(stalled.every(({ ended }) => ended === null));
    }));
});

function stoppedSink(): SimulatedSink {
  const sink = new SimulatedSink();
  sink.stop();
  return sink;
}

describe('what streams are in the middle of', () => {
  /** Somebody who holds this, and what became of it. */
  function held(texts: HeldTexts, megabytes: number, isCurrent = false) {
    const text = ofMegabytes(megabytes, isCurrent);
    const holder = {
      text,
      isCut: false,
      cut() {
        this.isCut = true;
        texts.release(text, this);
      },
    };
    texts.hold(text, holder);
    return holder;
  }

  test('does not count while others are given it too, nor when they have it', () => {
    const texts = new HeldTexts();
    const current = held(texts, 50, true);
    const first = held(texts, 30);
    const second = held(texts, 30);
    assert.deepEqual(
      [current, first, second].map(({ isCut }) => isCut),
      [false, false, false],
    );
    texts.release(second.text, second);
    assert.equal(held(texts, 30).isCut || first.isCut, false);
    current.text.isCurrent = false;
    held(texts, 1);
    assert.deepEqual([current.isCut, first.isCut], [true, false]);
  });

  test('is given whole to the last one, however long it is', () => {
    const texts = new HeldTexts();
    const first = held(texts, 1);
    assert.equal(held(texts, HELD_MAX_MB + 1).isCut, false);
    assert.equal(first.isCut, true);
  });
});

test('what some of the readers missed is kept for others up to a megabyte in all, and eight texts', () => {
  const shared = new SharedTexts();
  const half = textOf([Buffer.alloc(MB / 2)]);
  for (const key of ['a', 'b']) shared.add(key, half);
  assert.equal(shared.get('a'), half);
  shared.add('c', textOf([Buffer.alloc(1)]));
  assert.equal(shared.get('a'), undefined);
  shared.add('d', ofMegabytes(2));
  assert.equal(shared.get('d'), undefined);
  for (let index = 0; index < 9; index += 1) shared.add(`${index}`, textOf([]));
  assert.equal(shared.get('0'), undefined);
  assert.notEqual(shared.get('8'), undefined);
});
