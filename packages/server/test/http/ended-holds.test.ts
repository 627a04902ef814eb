/** Holds of sockets that end, here or on another process, while events, releases or processes are late. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { limits } from '@rollcall/protocol';
import { groupNotFound } from '../../src/core/errors.ts';
import { type PresenceChange, presenceChange } from '../../src/core/presence/presence-change.ts';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import type { PresenceStore, PresenceWatch } from '../../src/presence/presence-store.ts';
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
  REGION,
  scope,
  TTL_SECONDS,
  writer,
} from './held-process.ts';

const LONG_SECONDS = 600;

test('an absence whose event is lost ends what a connection holds for good', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  const silent: PresenceWatch = {
    position: { epoch: 'e', offset: 0 },
    since: async () => null,
    renew: async () => {},
    close: () => {},
  };
  presence.watch = async () => silent;
  await using held = closing(processOn(presence, clock));
  await (await held.open(project, 'a', 'page')).put(writer, at('1'));
  await presence.clear({ ...scope, userId: 'a', location: at('1').location, now: clock.now() });
  await passSeconds(clock, presence, 3 * TTL_SECONDS);
  assert.deepEqual(await locationsOf(presence, clock), []);
});

test('an absence ends what a connection holds for good, also where presence lives longer than a watch', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  await using held = closing(processOn(presence, clock, LONG_SECONDS));
  const connection = await held.open(project, 'a', 'page');
  await connection.put(writer, at('1'));
  await passSeconds(clock, presence, LONG_SECONDS / 2);
  await presence.clear({ ...scope, userId: 'a', location: at('1').location, now: clock.now() });
  await passSeconds(clock, presence, LONG_SECONDS);
  assert.deepEqual(await locationsOf(presence, clock), []);
  // The event of the absence came too, so the location does not come back with the loss of everything.
  await presence.close();
  await passSeconds(clock, presence, LONG_SECONDS);
  assert.deepEqual(await locationsOf(presence, clock), []);
});

test('an absence from the newest location of a region ends it for good, where another process has the next newest', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  await using one = closing(processOn(presence, clock));
  await using two = closing(processOn(presence, clock));
  await (await one.open(project, 'a', 'one')).put(writer, at('1'));
  await (await two.open(project, 'a', 'two')).put(writer, at('2'));
  await presence.clear({ ...scope, userId: 'a', location: at('2').location, now: clock.now() });
  await passSeconds(clock, presence, 2 * TTL_SECONDS);
  assert.deepEqual(await locationsOf(presence, clock), [at('1').location]);
});

test('a group in which other callers have ended all that a connection holds is not watched any more', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  const watch = presence.watch.bind(presence);
  const watched: string[] = [];
  presence.watch = async (watchedScope, now, watcher) => {
    const { close, ...own } = await watch(watchedScope, now, watcher);
    watched.push(watchedScope.groupId);
    const unwatch = () => {
      watched.splice(watched.indexOf(watchedScope.groupId), 1);
      close();
    };
    return { ...own, close: unwatch };
  };
  await using held = closing(processOn(presence, clock));
  const connection = await held.open(project, 'a', 'page');
  const elsewhere = (index: number) => presenceChange({ location: { page: `${index}` } }, `g${index}`);
  for (let index = 0; index < limits.SOCKET_LOCATIONS_MAX; index += 1) {
    const change = elsewhere(index);
    await connection.put(writer, change);
    const { location, groupId } = change;
    await presence.clear({ project, groupId, userId: 'a', location, now: clock.now() });
  }
  assert.equal(watched.length, limits.SOCKET_LOCATIONS_MAX);
  // There is room for it, since the others have ended.
  await connection.put(writer, at('1'));
  await passSeconds(clock, presence, 3);
  assert.deepEqual(watched, ['g']);
});

test('a connection that closes releases what an update without an answer has set, also where it holds nothing else there', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  const put = putInto(presence, clock, (connection) => (connection === 'other' ? 'b' : 'a'));
  let isLost = false;
  await using held = closing(
    processWith(presence, clock, async (...update) => {
      await put(...update);
      if (isLost) throw new StoreUnavailableError('the answer was lost');
    }),
  );
  await holdOther(held, 'b');
  const connection = await held.open(project, 'a', 'page');
  await connection.put(writer, at('1'));
  isLost = true;
  await assert.rejects(connection.put(writer, at('2')));
  isLost = false;
  // The location that the process knows is refreshed, and is not there any more.
  await presence.publish(scope, { type: 'releasing', userId: 'a', connection: 'page' } as never, clock.now());
  await passSeconds(clock, presence, 3);
  assert.deepEqual(await locationsOf(presence, clock), [at('2').location]);
  await connection.close(0);
  assert.deepEqual(await locationsOf(presence, clock), []);
});

test('a release that fails is repeated within a second, also where its connection was the last one in the group', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  await using held = closing(processOn(presence, clock));
  const connection = await held.open(project, 'a', 'page');
  await connection.put(writer, at('1'));
  const release = presence.release.bind(presence);
  const { promise: isAway, resolve: fail } = Promise.withResolvers<void>();
  presence.release = async () => {
    await isAway;
    presence.release = release;
    throw new StoreUnavailableError('Redis: no connection');
  };
  const left = assert.rejects(connection.leave('g'), StoreUnavailableError);
  await passSeconds(clock, presence, 1);
  fail();
  await left;
  assert.deepEqual(await locationsOf(presence, clock), [at('1').location]);
  await passSeconds(clock, presence, 1);
  assert.deepEqual(await locationsOf(presence, clock), []);
});

test('a connection that moved to another process stays present when the process before notices its end', async () => {
  for (const seconds of [1, 12, 16, 25, 40]) {
    const presence = createMemoryPresence();
    const clock = new MovedClock();
    await using before = closing(processOn(presence, clock));
    await using after = closing(processOn(presence, clock));
    const old = await before.open(project, 'a', 'page');
    await old.put(writer, at('1'));
    await (await after.open(project, 'a', 'page')).put(writer, at('1'));
    // The process before has not noticed that its socket is gone.
    await passSeconds(clock, presence, seconds);
    await old.close(0);
    assert.deepEqual(await locationsOf(presence, clock), [at('1').location], `after ${seconds} s`);
  }
});

/**
 * A process is frozen for longer than its leases while its connection is opened on another one, at a page each; when it goes on, its
 * other connection `puts` locations before its leases are renewed. Asserts that the user is at the page of the other process, and
 * else at `own` locations alone.
 */
async function afterFreeze(puts: readonly PresenceChange[], own: readonly string[]): Promise<void> {
  for (const page of ['1', '2']) {
    const presence = createMemoryPresence();
    const [clock, frozen] = [new MovedClock(), new MovedClock()];
    await using before = closing(processOn(presence, frozen));
    await using after = closing(processOn(presence, clock));
    const [old, busy] = [await before.open(project, 'a', 'page'), await before.open(project, 'a', 'busy')];
    await old.put(writer, at('1'));
    await passSeconds(clock, presence, TTL_SECONDS + 10);
    assert.deepEqual(await locationsOf(presence, clock), [], 'the lease has ended');
    await (await after.open(project, 'a', 'page')).put(writer, at(page));
    frozen.jump((TTL_SECONDS + 10) * 1_000);
    for (const change of puts) await busy.put(writer, change);
    const expected = [at(page).location, ...own];
    // It has not noticed yet that its socket is gone.
    for (let second = 0; second < 2 * TTL_SECONDS; second += 1) {
      frozen.move(1_000);
      await passSeconds(clock, presence, 1);
      assert.deepEqual((await locationsOf(presence, clock)).toSorted(), expected, `after ${second} s`);
    }
    await old.close(0);
    // The frozen process renews its own no longer than its clock moves.
    await passSeconds(clock, presence, TTL_SECONDS);
    assert.deepEqual(await locationsOf(presence, clock), [at(page).location], 'when it has noticed');
  }
}

test('a process that was frozen for longer than its leases takes no connection back that is open on another one', () =>
  afterFreeze([], []));

test('a process that was frozen takes no connection back, also where another of its connections in the group takes a location first', () => {
  const change = presenceChange({ location: { section: '1' } }, 'g');
  return afterFreeze([change], [change.location]);
});

test('a location that is taken with a lease that has ended is the newest of its region', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  await using held = closing(processOn(presence, clock));
  const [first, second] = [await held.open(project, 'a', 'first'), await held.open(project, 'a', 'second')];
  await first.put(writer, at('1'));
  await second.put(writer, at('2'));
  clock.jump((TTL_SECONDS + 10) * 1_000);
  await first.put(writer, at('3'));
  for (const expected of [at('3').location, at('2').location]) {
    await passSeconds(clock, presence, 2 * TTL_SECONDS);
    assert.deepEqual(await locationsOf(presence, clock), [expected]);
    await first.close(0);
  }
});

test('what a connection holds is set again for a membership that began anew, also where an error came first', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  let failures = 0;
  const put = putInto(presence, clock);
  await using held = closing(
    processWith(presence, clock, async (...update) => {
      if (failures > 0) {
        failures -= 1;
        throw new StoreUnavailableError('Redis: no connection');
      }
      await put(...update);
    }),
  );
  await (await held.open(project, 'a', 'page')).put(writer, at('1'));
  const ends = [
    () => presence.removeUsers(scope, ['a'], clock.now()),
    () => presence.removeGroup(scope, clock.now()),
  ];
  for (const end of ends) {
    await end();
    failures = 1;
    await passSeconds(clock, presence, 2);
    assert.deepEqual(await locationsOf(presence, clock), [at('1').location]);
  }
});

test('a location that the engine has lost with its lease is set again where a lease of the process before has it', async () => {
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  let last: Parameters<PresenceStore['set']>[0] | undefined;
  const set = presence.set.bind(presence);
  presence.set = (update) => {
    last = update;
    return set(update);
  };
  await using before = closing(processOn(presence, clock));
  await using after = closing(processOn(presence, clock));
  // The lease of the process before goes on.
  await holdOther(before, 'a');
  const old = await before.open(project, 'a', 'page');
  await old.put(writer, at('1'));
  const earlier = last as NonNullable<typeof last>;
  const moved = await after.open(project, 'a', 'page');
  await moved.put(writer, at('2'));
  const { lease } = last as NonNullable<typeof last>;
  await old.close(0);
  // The lease was renewed, and has not ended.
  await passSeconds(clock, presence, TTL_SECONDS + 5);
  // After a failover the engine has what it had before.
  await set({ ...earlier, now: clock.now(), expiresAt: clock.now() + TTL_SECONDS * 1_000 });
  const renew = presence.renewLease.bind(presence);
  presence.renewLease = async (renewal) => (renewal.lease === lease ? null : renew(renewal));
  await passSeconds(clock, presence, TTL_SECONDS);
  assert.ok((await locationsOf(presence, clock)).includes(at('2').location));
  await moved.close(0);
  await passSeconds(clock, presence, 2 * TTL_SECONDS);
  assert.deepEqual(await locationsOf(presence, clock), ['{"other":""}']);
});

test('a group is watched only for a user who may be present in it, and only while a connection holds a location there', async () => {
  const watched: string[] = [];
  const presence = createMemoryPresence();
  const clock = new MovedClock();
  const watch = presence.watch.bind(presence);
  presence.watch = async (...[of, ...rest]) => {
    const own = await watch(of, ...rest);
    watched.push(of.groupId);
    const close = () => {
      watched.push(`closed ${of.groupId}`);
      own.close();
    };
    return { ...own, close };
  };
  const enter = async (_writer: unknown, group: string | null) => {
    if (group !== 'g') throw groupNotFound(group ?? '', 'has no member a');
    return group;
  };
  const putPresence = async () => {};
  await using held = closing(processWith(presence, clock, putPresence, TTL_SECONDS, enter));
  const connection = await held.open(project, 'a', null);
  for (const groupId of ['g', 'another', 'g']) {
    const change = presenceChange({ location: REGION }, groupId);
    const put = connection.put(writer, change);
    if (groupId === 'g') await put;
    else await assert.rejects(put, { code: 'group_not_found' });
  }
  assert.deepEqual(watched, ['g']);
  await connection.leave('g');
  clock.move(1_000);
  await nextIteration();
  await connection.put(writer, at('1'));
  assert.deepEqual(watched, ['g', 'closed g', 'g']);
  await connection.close(0);
  clock.move(1_000);
  await nextIteration();
  assert.deepEqual(watched, ['g', 'closed g', 'g', 'closed g']);
});
