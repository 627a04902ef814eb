import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import type { StreamSession } from '../../src/realtime/sessions/stream-session.ts';
import { UnsentTexts } from '../../src/realtime/sessions/unsent-texts.ts';
import { textOf } from '../../src/realtime/text/events-text.ts';
import { SharedTexts } from '../../src/realtime/text/shared-texts.ts';
import { eventBlock } from '../../src/wire/event-text.ts';
import { SimulatedSink } from './simulated-sink.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const MB = 1_048_576;
/** The bound on the outdated texts of a process, in megabytes. */
const OUTDATED_MAX_MB = 64;
/** What an event has beside its data. */
const FRAME_LENGTH = eventBlock({ name: 'x', id: '', data: '' }).length;
/** A megabyte of snapshot. */
const USERS = Array.from({ length: 128 }, (_, index) => `u${index + 1_000}`);

const textOfBytes = (bytes: number, isCurrent = false) =>
  Object.assign(textOf([{ name: 'x', id: '', data: 'x'.repeat(bytes) }]), { isCurrent });
const ofMegabytes = (count: number, isCurrent = false) => textOfBytes(count * MB - FRAME_LENGTH, isCurrent);

/** Moves a user, until a reader has it. */
async function moveSeen(world: StreamWorld, reader: SimulatedSink, line: string): Promise<void> {
  await world.move('u1000', line);
  await world.until('the move', () => reader.parser.events.at(-1)?.data.location?.line === line);
}

describe('readers who stall in the middle of a snapshot', () => {
  test('above 64 MB of outdated snapshots, the readers of the oldest are disconnected', () =>
    withStreams({}, async (world) => {
      await world.seedWide(USERS, 8_192, '2');
      const quick = await world.open();
      const stalled: SimulatedSink[] = [];
      for (let index = 0; index < OUTDATED_MAX_MB + 16; index += 1) {
        stalled.push(await world.open({}, undefined, 0, stoppedSink()));
        await moveSeen(world, quick, `${index}`);
      }
      const open = stalled.filter(({ ended }) => ended === null).length;
      assert.ok(open >= OUTDATED_MAX_MB - 8 && open <= OUTDATED_MAX_MB, `${open} are open`);
      assert.deepEqual(
        stalled.slice(-open).map(({ ended }) => ended),
        Array.from({ length: open }, () => null),
      );
      assert.equal(quick.ended, null);
      for (const sink of stalled.slice(-open)) sink.flow();
      await world.pass(2);
      assert.equal(
        stalled.at(-1)?.parser.lastEventId,
        quick.parser.lastEventId,
        'the other readers continue',
      );
    }));

  test('a reader who waits to begin is not disconnected above 64 MB of outdated snapshots, and begins with a later one', () =>
    withStreams({}, async (world) => {
      await world.seedWide(USERS, 8_192, '2');
      const quick = await world.open();
      const sessions: StreamSession[] = [];
      for (let index = 0; index < OUTDATED_MAX_MB + 16; index += 1) {
        sessions.push(await world.session());
        await moveSeen(world, quick, `${index}`);
      }
      const sinks = sessions.map((session) => {
        const sink = new SimulatedSink();
        session.start(new SseSink(sink));
        return sink;
      });
      const { lastEventId } = quick.parser;
      await world.until('all to begin', () =>
        sinks.every(({ parser }) => parser.lastEventId === lastEventId),
      );
      for (const { parser, ended } of sinks)
        assert.deepEqual([parser.events.filter(({ type }) => type === 'snapshot').length, ended], [1, null]);
      await world.move('u1000', 'last');
      await world.until('the move', () =>
        sinks.every(({ parser }) => parser.events.at(-1)?.data.location?.line === 'last'),
      );
    }));

  test('a reader whose events were dropped while it waited to begin gets a snapshot, also where an event comes before that', () =>
    withStreams({ users: ['a', 'b'] }, async (world) => {
      const quick = await world.open();
      const session = await world.session();
      // More than a channel stores.
      for (let line = 0; line <= 1_000; line += 1) await world.move('a', `${line}`);
      await world.until('the moves', () => quick.parser.events.at(-1)?.data.location?.line === '1000');
      const { eligibility } = world.engine.store;
      const filter = eligibility.filter.bind(eligibility);
      const [checking, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      eligibility.filter = async (...query) => {
        checking.resolve();
        await held.promise;
        return filter(...query);
      };
      const arrival = world.move('b', '1');
      await checking.promise;
      const sink = new SimulatedSink();
      session.start(new SseSink(sink));
      held.resolve();
      await arrival;
      await world.until(
        'the snapshot',
        () => sink.ended !== null || sink.parser.lastEventId === quick.parser.lastEventId,
      );
      assert.equal(sink.ended, null);
      assert.equal(sink.parser.events[0]?.type, 'snapshot');
    }));

  test('readers in the middle of the same snapshot count once', () =>
    withStreams({}, async (world) => {
      await world.seedWide(USERS, 8_192, '2');
      const stalled: SimulatedSink[] = [];
      for (let index = 0; index < OUTDATED_MAX_MB + 16; index += 1)
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

describe('unsent texts', () => {
  /** A reader in the middle of a text, and whether it was disconnected. */
  function retained(texts: UnsentTexts, megabytes: number, isCurrent = false) {
    const text = ofMegabytes(megabytes, isCurrent);
    const holder = {
      text,
      isDisconnected: false,
      giveUpText() {
        this.isDisconnected = true;
        texts.release(text, this);
      },
    };
    texts.retain(text, holder);
    return holder;
  }

  test('an unsent text does not count while it is current, nor after it was sent', () => {
    const texts = new UnsentTexts();
    const current = retained(texts, 50, true);
    const first = retained(texts, 30);
    const second = retained(texts, 30);
    assert.deepEqual(
      [current, first, second].map(({ isDisconnected }) => isDisconnected),
      [false, false, false],
    );
    texts.release(second.text, second);
    assert.equal(retained(texts, 30).isDisconnected || first.isDisconnected, false);
    current.text.isCurrent = false;
    retained(texts, 1);
    assert.deepEqual([current.isDisconnected, first.isDisconnected], [true, false]);
  });

  test('the newest snapshot text is sent whole, however long it is', () => {
    const texts = new UnsentTexts();
    const first = retained(texts, 1);
    assert.equal(retained(texts, OUTDATED_MAX_MB + 1).isDisconnected, false);
    assert.equal(first.isDisconnected, true);
  });
});

test('texts of missed events are stored up to a megabyte in all, and 64 texts', () => {
  const shared = new SharedTexts();
  const half = textOfBytes(MB / 2 - FRAME_LENGTH);
  for (const key of ['a', 'b']) shared.add(key, half);
  assert.equal(shared.get('a'), half);
  shared.add('c', textOfBytes(1));
  assert.equal(shared.get('a'), undefined);
  shared.add('d', ofMegabytes(2));
  assert.equal(shared.get('d'), undefined);
  for (let index = 0; index < 65; index += 1) shared.add(`${index}`, textOf([]));
  assert.equal(shared.get('0'), undefined);
  assert.notEqual(shared.get('64'), undefined);
});
