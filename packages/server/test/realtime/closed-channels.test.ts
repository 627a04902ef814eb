import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { withStreams } from './stream-world.ts';

/** More users than a snapshot reads in one tick of the event loop. */
const USERS = Array.from({ length: 2_100 }, (_, index) => `u${index + 1_000}`);
/** More filters without readers than are stored. */
const IDLE = 110;
/** After how many ticks of the event loop the filter is dropped: one of them is in the middle of the snapshot. */
const TICKS = 12;

const filterOf = (page: number) => ({
  filter: { location: { location: `{"page":"${page}"}`, partial: true }, excludeDurable: false },
});

test('what the filter of a waiting reader shows is read once, however long that takes', () =>
  withStreams({ users: ['a'] }, async (world) => {
    await world.open();
    const { durablePresence } = world.engine.store;
    const list = durablePresence.list.bind(durablePresence);
    const answered = Promise.withResolvers<void>();
    let reads = 0;
    durablePresence.list = async (...page) => {
      reads += 1;
      await answered.promise;
      return list(...page);
    };
    const opening = world.open(filterOf(1));
    await world.pass(40);
    answered.resolve();
    await opening;
    assert.equal(reads, 1);
  }));

test('a durable location that ends while a filter is read is not in the snapshot of its reader', () =>
  withStreams({ users: ['a'] }, async (world) => {
    const put = (page: string) =>
      world.put('a', { location: { site: 's', page }, exclusiveWithin: { site: 's' }, durable: true });
    const all = await world.open();
    await put('1');
    await world.until('the location', () => all.changes.length === 1);
    const { durablePresence } = world.engine.store;
    const list = durablePresence.list.bind(durablePresence);
    const [read, changed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    durablePresence.list = async (...page) => {
      const found = await list(...page);
      read.resolve();
      await changed.promise;
      return found;
    };
    const opening = world.open(filterOf(1));
    await read.promise;
    await put('2');
    await world.until('the change', () => all.changes.length === 2);
    changed.resolve();
    assert.deepEqual((await opening).parser.events.at(-1)?.data, { users: [] });
  }));

test('a reader whose channel is closed while its snapshot is made gets the events that follow', () =>
  withStreams({}, async (world) => {
    await world.seedWide(USERS, 1, '1');
    const stays = await world.open();
    for (let ticks = 0; ticks < TICKS; ticks += 1) {
      for (let page = 1; page <= IDLE; page += 1) (await world.open(filterOf(page))).onEnd();
      // The snapshot of the oldest filter is outdated.
      const sent = stays.written.length;
      await world.move('u1000', `before ${ticks}`);
      await world.until('the move', () => stays.written.length > sent);
      const opening = world.open(filterOf(1));
      for (let tick = 0; tick < ticks; tick += 1) await nextIteration();
      world.clock.move(1_000);
      const sink = await opening;
      await world.move('u1000', `after ${ticks}`);
      await world.until(`the move after ${ticks} ticks`, () =>
        sink.parser.events.some(({ data }) => data.location?.line === `after ${ticks}`),
      );
      sink.onEnd();
      await world.pass(31);
    }
  }));

test('the latest 100 filters without readers are stored, and an older one is read again for its next reader', () =>
  withStreams({ users: ['a'] }, async (world) => {
    await world.open();
    for (let page = 1; page <= 101; page += 1) (await world.open(filterOf(page))).onEnd();
    await world.pass(1);
    const { durablePresence } = world.engine.store;
    const list = durablePresence.list.bind(durablePresence);
    let reads = 0;
    durablePresence.list = (...page) => {
      reads += 1;
      return list(...page);
    };
    await world.open(filterOf(2));
    assert.equal(reads, 0);
    await world.open(filterOf(1));
    assert.equal(reads, 1);
  }));
