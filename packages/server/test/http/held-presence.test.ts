/** Holds of sockets that are set again, one after the other, while their sockets go on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { HeldGroup } from '../../src/core/holds/held-group.ts';
import type { PresenceConnection } from '../../src/core/holds/presence-connection.ts';
import { type PresenceChange, presenceChange } from '../../src/core/presence/presence-change.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import { regionHash } from '../../src/presence/region-name.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { closing } from '../support/closing.ts';
import { MovedClock } from '../support/moved-clock.ts';
import {
  at,
  holdOther,
  locationsOf,
  passSeconds,
  processOn,
  processWith,
  project,
  putInto,
  scope,
  TTL_SECONDS,
  writer,
} from './held-process.ts';

type Meanwhile = (second: PresenceConnection, group: HeldGroup<PresenceConnection>) => void;

/** What is set again of the second of two connections, when `meanwhile` happens while the first one's hold is set. */
async function setAgain(meanwhile: Meanwhile): Promise<PresenceChange[]> {
  const set: [string, PresenceChange][] = [];
  const { promise: isFirstSet, resolve: endFirst } = Promise.withResolvers<void>();
  await using held = closing(
    processWith(createMemoryPresence(), new MovedClock(), async (_writer, change, holder) => {
      set.push([holder?.connection ?? '', change]);
      await isFirstSet;
    }),
  );
  const group = new HeldGroup<PresenceConnection>({ project, groupId: 'g' }, held, TTL_SECONDS * 1_000);
  const [first, second] = [await held.open(project, 'a', 'first'), await held.open(project, 'b', 'second')];
  for (const connection of [first, second]) connection.remember(group, writer, at('1', { x: 1 }));
  const done = held.setAgain([first, second], group, 'another lease');
  meanwhile(second, group);
  endFirst();
  await done;
  return set.filter(([connection]) => connection === 'second').map(([, change]) => change);
}

test('a hold that nothing happens to is set again with its data', async () => {
  assert.deepEqual(await setAgain(() => {}), [at('1', { x: 1 })]);
});

test('a hold that moves, is left, gets other data or is released while others are set again is not set as it was', async () => {
  const meanwhile: readonly Meanwhile[] = [
    (second, group) => second.remember(group, writer, at('2')),
    (second, group) => second.remember(group, writer, at('1', { x: 2 })),
    (second, group) => second.forget(group, at('1').location),
    (second) => void second.close(0),
  ];
  for (const happens of meanwhile) assert.deepEqual(await setAgain(happens), []);
});

test('a hold that was taken over with the name of its region is the one that an update of the region changes', async () => {
  await using held = closing(processWith(createMemoryPresence(), new MovedClock(), async () => {}));
  const group = new HeldGroup<PresenceConnection>({ project, groupId: 'g' }, held, TTL_SECONDS * 1_000);
  const connection = await held.open(project, 'a', 'page');
  const { region, location } = at('1');
  assert.equal(
    connection.takeOver(group, writer, [{ region: regionHash(region), location, data: null }]),
    true,
  );
  connection.remember(group, writer, at('1'));
  assert.deepEqual(
    connection.holdsOf(group).map(({ change }) => change),
    [at('1')],
  );
  assert.equal(
    connection.takeOver(group, writer, [{ region: regionHash(region), location, data: null }]),
    false,
  );
});

test('a connection that is back while its release is late is open after the release', async () => {
  const clock = new MovedClock();
  const presence = createMemoryPresence();
  const { promise: isReleased, resolve: endRelease } = Promise.withResolvers<void>();
  presence.release = () => isReleased;
  await using held = closing(processWith(presence, clock, async () => {}));
  const first = await held.open(project, 'a', 'page');
  await first.put(writer, at('1'));
  const closed = first.close(2_000);
  // The connection is gone for long, and the engine has not answered.
  clock.move(5_000);
  const order: string[] = [];
  const opening = [1, 2].map(() => held.open(project, 'a', 'page').then(() => order.push('open')));
  await nextIteration();
  order.push('released');
  endRelease();
  await Promise.all([closed, ...opening]);
  assert.deepEqual(order, ['released', 'open', 'open']);
});

/** Runs `use` with a connection of user a that holds a location which the engine has lost, while the location is being set again. */
async function whileSetAgain(use: (connection: PresenceConnection) => Promise<void>): Promise<string[]> {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  const { promise: isEligible, resolve: endReading } = Promise.withResolvers<void>();
  const { promise: isReading, resolve: beginReading } = Promise.withResolvers<void>();
  let isLost = false;
  const put = putInto(presence, clock);
  await using held = closing(
    processWith(presence, clock, async (of, change, holder) => {
      if (isLost && change.kind !== 'absent') {
        beginReading();
        // Eligibility is read before the engine has the update.
        await isEligible;
      }
      await put(of, change, holder);
    }),
  );
  const connection = await held.open(project, 'a', 'page');
  await connection.put(writer, at('1'));
  // The engine forgets everything, and goes on.
  await presence.close();
  isLost = true;
  for (let second = 0; second < TTL_SECONDS; second += 1) {
    clock.move(1_000);
    await nextIteration();
  }
  await isReading;
  const used = use(connection);
  await nextIteration();
  endReading();
  await used;
  await nextIteration();
  const reading = { ...scope, filter: null, after: null, limit: 10, now: clock.now() };
  return (await presence.find(reading)).users.flatMap(({ locations }) => locations);
}

test('a location that the engine has lost is set again', async () => {
  assert.deepEqual(await whileSetAgain(async () => {}), [at('1').location]);
});

test('a connection that closes or leaves while its lost location is being set again is not present afterwards', async () => {
  const { location } = at('1');
  const ends: readonly ((connection: PresenceConnection) => Promise<void>)[] = [
    (connection) => connection.close(0),
    (connection) => connection.leave('g'),
    (connection) =>
      connection.put(writer, presenceChange({ location: JSON.parse(location), absent: true }, 'g')),
  ];
  for (const end of ends) assert.deepEqual(await whileSetAgain(end), []);
});

test('a connection that moves while its lost location is being set again is at the new location alone', async () => {
  assert.deepEqual(await whileSetAgain((connection) => connection.put(writer, at('2'))), [at('2').location]);
});

const isAway = () => {
  throw new StoreUnavailableError('Redis: no connection');
};

/** The users who are present a while after the engine has lost what three connections held, and an error came while it was set again. */
async function afterErrors(
  lose: (presence: PresenceStore, clock: MovedClock) => void,
  fail: (clock: MovedClock) => void = isAway,
): Promise<string[]> {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  let failures = 0;
  const put = putInto(presence, clock, (connection) => connection);
  await using held = closing(
    processWith(presence, clock, async (of, change, holder) => {
      if (change.location === at('2').location && failures > 0) {
        failures -= 1;
        fail(clock);
      }
      await put(of, change, holder);
    }),
  );
  for (const page of ['1', '2', '3']) await (await held.open(project, page, page)).put(writer, at(page));
  lose(presence, clock);
  failures = 3;
  await passSeconds(clock, presence, 2 * TTL_SECONDS);
  const reading = { ...scope, filter: null, after: null, limit: 10, now: clock.now() };
  const { users } = await presence.find(reading);
  return users.map(({ userId }) => userId);
}

test('lost locations that an error has prevented from being set again are set later', async () => {
  const everyone = ['1', '2', '3'];
  const forget = (presence: PresenceStore) => void presence.close();
  const freeze = (clock: MovedClock) => clock.jump(2 * TTL_SECONDS * 1_000);
  assert.deepEqual(await afterErrors(forget), everyone);
  assert.deepEqual(await afterErrors((_presence, clock) => freeze(clock)), everyone, 'the lease has ended');
  assert.deepEqual(await afterErrors(forget, freeze), everyone, 'the lease ends meanwhile');
});

test('a location that is set while the holds of a lost lease are set again is held like the others', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  const { promise: isEligible, resolve: endReading } = Promise.withResolvers<void>();
  const put = putInto(presence, clock, (connection) => connection);
  await using held = closing(
    processWith(presence, clock, async (of, change, holder) => {
      // Eligibility is read before the engine has the update.
      if (change.location === at('2').location) await isEligible;
      await put(of, change, holder);
    }),
  );
  const [first, second] = [await held.open(project, '1', '1'), await held.open(project, '2', '2')];
  await first.put(writer, at('1'));
  // The engine forgets everything, and goes on.
  await presence.close();
  const moved = second.put(writer, at('2'));
  await passSeconds(clock, presence, TTL_SECONDS);
  endReading();
  await moved;
  await passSeconds(clock, presence, 3 * TTL_SECONDS);
  const { users } = await presence.find({ ...scope, filter: null, after: null, limit: 10, now: clock.now() });
  assert.deepEqual(
    users.map(({ userId }) => userId),
    ['1', '2'],
  );
});

test('a connection that is back keeps what the engine has lost while it was away', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  await using held = closing(processOn(presence, clock));
  await holdOther(held, 'b');
  const connection = await held.open(project, 'a', 'page');
  await connection.put(writer, at('1'));
  await connection.close(TTL_SECONDS * 1_000);
  await presence.close();
  await passSeconds(clock, presence, TTL_SECONDS / 2);
  assert.deepEqual(await locationsOf(presence, clock), ['{"other":""}']);
  assert.equal(await held.open(project, 'a', 'page'), connection);
  assert.deepEqual(await locationsOf(presence, clock), [at('1').location, '{"other":""}']);
  await passSeconds(clock, presence, 2 * TTL_SECONDS);
  assert.deepEqual(await locationsOf(presence, clock), [at('1').location, '{"other":""}']);
});

test('a location that was cleared and is held anew is set again with the data that it has since then', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  await using held = closing(processOn(presence, clock));
  const connection = await held.open(project, 'a', 'page');
  await connection.put(writer, at('1', { x: 1 }));
  await presence.clear({ ...scope, userId: 'a', location: at('1').location, now: clock.now() });
  for (const change of [at('1'), at('1', { x: 2 }), at('1')]) await connection.put(writer, change);
  await presence.close();
  await passSeconds(clock, presence, TTL_SECONDS);
  const reading = { ...scope, userId: 'a', incarnation: 1, now: clock.now() };
  assert.deepEqual(await presence.locationsOf(reading), { locations: [at('1').location], data: ['{"x":2}'] });
});
