import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalLocation, type Location } from '@rollcall/protocol';
import { SseSink } from '../../src/realtime/sessions/sse-sink.ts';
import type { StreamRequest } from '../../src/realtime/sessions/stream-request.ts';
import type { StreamSession } from '../../src/realtime/sessions/stream-session.ts';
import { usedBytes } from '../support/heap.ts';
import { Drain } from './drain.ts';
import { type StreamWorld, withStreams } from './stream-world.ts';

const USERS = Array.from({ length: 1_000 }, (_, index) => `u${index + 1_000}`);
const FILTERS = 500;
const MB = 1_048_576;
/** The number of users with durable presence too, which the Store reads 500 times. */
const DURABLE_USERS = USERS.slice(0, 250);
/** About 18 MB are used; a copy of the shown locations for each filter takes more than 100 MB. */
const ADDED_MAX = 30 * MB;
const MOVES = 300;

/** Each subset of these pairs is a filter that shows all users. */
const PAIRS = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`key${index}`, `value ${index}`]));
const locationAt = (line: string): Location => ({ ...PAIRS, doc: 'a', line });
const REGION = { doc: 'a' };

function filterOf(index: number): StreamRequest['filter'] {
  const pairs = Object.entries(PAIRS).filter((_, bit) => ((index >> bit) & 1) === 1);
  const location = canonicalLocation({ doc: 'a', ...Object.fromEntries(pairs) });
  return { location: { location, partial: true }, excludeDurable: false };
}

/** All users present in the group, some of them durably too. */
async function fill(world: StreamWorld): Promise<void> {
  await world.seed(USERS);
  const write = { location: locationAt('0'), exclusiveWithin: REGION };
  await Promise.all(USERS.map((userId) => world.put(userId, write)));
  await Promise.all(DURABLE_USERS.map((userId) => world.put(userId, { ...write, durable: true })));
}

async function openAll(
  world: StreamWorld,
  isTaking: (index: number) => boolean,
): Promise<readonly { readonly sink: Drain; readonly session: StreamSession }[]> {
  const opened: { sink: Drain; session: StreamSession }[] = [];
  for (let index = 0; index < FILTERS; index += 1) {
    const session = await world.session({ filter: filterOf(index) });
    const sink = new Drain(isTaking(index));
    session.start(new SseSink(sink));
    opened.push({ sink, session });
  }
  return opened;
}

describe('500 filters that each show all 1,000 users of a group', () => {
  test('500 filters share locations, snapshots and events, also while readers stall in the middle of a snapshot', () =>
    withStreams({}, async (world) => {
      await fill(world);
      const before = await usedBytes();
      const opened = await openAll(world, (index) => index % 2 === 0);
      await world.until('all to begin', () => opened.every(({ sink }) => sink.bytesWritten > 0));
      const added = (await usedBytes()) - before;
      const isMidway = ({ sink }: { sink: Drain }) => sink.writableLength > 0 && sink.bytesWritten < 100_000;
      assert.equal(opened.filter(isMidway).length, FILTERS / 2, 'half of the readers wait in the middle');
      assert.ok(added <= ADDED_MAX, `${(added / MB).toFixed(1)} MB`);

      const taking = opened.filter((_, index) => index % 2 === 0);
      const bytes = () => Math.min(...taking.map(({ sink }) => sink.bytesWritten));
      const snapshots = bytes();
      for (let move = 0; move < MOVES; move += 1) {
        const location = locationAt(`${move + 1}`);
        await world.put(USERS[move] as string, { location, exclusiveWithin: REGION });
      }
      const eventBytes = MOVES * JSON.stringify(locationAt('1')).length;
      await world.until('all moves', () => bytes() >= snapshots + eventBytes);
      const addedAfter = (await usedBytes()) - before;
      assert.ok(addedAfter <= ADDED_MAX, `${(addedAfter / MB).toFixed(1)} MB after ${MOVES} moves`);
      assert.ok(taking.every(({ sink }) => !sink.isEnded));
    }));
});

test('the durable locations and texts of a filter are dropped 30 seconds after its last reader left', () =>
  withStreams({}, async (world) => {
    const ids = USERS.slice(0, 400);
    await world.seed(ids);
    const wide = Object.fromEntries(
      Array.from({ length: 15 }, (_, index) => [`key${index}`, 'x'.repeat(1_024)]),
    );
    const write = { location: { ...wide, doc: 'a' }, durable: true };
    await Promise.all(ids.map((userId) => world.put(userId, write)));
    // A reader with another filter stays, and the group with it.
    const other = { location: { location: '{"doc":"b"}', partial: true }, excludeDurable: false };
    (await world.session({ filter: other })).start(new SseSink(new Drain(true)));
    const before = await usedBytes();
    const session = await world.session({ filter: filterOf(0) });
    const shown = (await usedBytes()) - before;
    assert.ok(shown > 5 * MB, `${(shown / MB).toFixed(1)} MB of texts; the group has the locations already`);
    session.close();
    await world.pass(32);
    const left = (await usedBytes()) - before;
    assert.ok(left <= 2 * MB, `${(left / MB).toFixed(1)} MB`);
  }));
