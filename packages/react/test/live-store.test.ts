/** The state that components share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { RollcallClient } from '@rollcall/client';
import { StatusOfConnections } from '../../client/src/connection-status.ts';
import { RollcallError } from '../../client/src/index.ts';
import { storeOf } from '../src/client-stores.ts';
import { LiveStore } from '../src/live-store.ts';

/** A store whose first readings fail, each with a `Retry-After` of so many milliseconds. */
function storeThatFails(status: StatusOfConnections, ...retryAfterMs: readonly number[]) {
  let attempts = 0;
  const client = { status } as unknown as RollcallClient;
  const store = storeOf(client, 'key', 'unread', async (set) => {
    const delayMs = retryAfterMs[attempts];
    attempts += 1;
    if (delayMs !== undefined) throw new RollcallError('network', 'away', { retryAfterMs: delayMs });
    set(() => 'read');
    return true;
  });
  return { store, attempts: () => attempts };
}

test('what could not be read while the connection was lost is read as soon as the client is connected again', async (context) => {
  // No time passes: only the connection ends a delay.
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const status = new StatusOfConnections();
  const connection = {};
  status.report(connection, 'reconnecting');
  const { store, attempts } = storeThatFails(status, 0, 0);
  store.subscribe(() => {});
  await nextIteration();
  status.report(connection, 'open');
  await nextIteration();
  assert.equal(attempts(), 2);
  status.report(connection, 'reconnecting');
  status.report(connection, 'open');
  await nextIteration();
  context.mock.timers.tick(1);
  assert.equal(store.get(), 'read');
});

test('what could not be read is read again after a delay, however many components use it meanwhile', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { store, attempts } = storeThatFails(new StatusOfConnections(), 0, 0);
  const unsubscribe = store.subscribe(() => {});
  for (let delay = 1; delay <= 2; delay += 1) {
    await nextIteration();
    for (let component = 0; component < 10; component += 1) store.subscribe(() => {})();
    await nextIteration();
    assert.equal(attempts(), delay);
    context.mock.timers.tick(2_000);
  }
  await nextIteration();
  context.mock.timers.tick(1);
  assert.equal(store.get(), 'read');
  unsubscribe();
});

test('what could not be read is not read while no component uses it, and at once when one does', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  // Each delay is the shortest one: the first takes half a second.
  context.mock.method(Math, 'random', () => 0);
  const { store, attempts } = storeThatFails(new StatusOfConnections(), 0, 30_000);
  const use = async () => {
    const unsubscribe = store.subscribe(() => {});
    await nextIteration();
    unsubscribe();
  };
  await use();
  context.mock.timers.tick(700);
  await nextIteration();
  assert.equal(attempts(), 1);
  await use();
  assert.equal(attempts(), 2);
  // The store has ended by then, and its delay with it.
  context.mock.timers.tick(1_100);
  await use();
  context.mock.timers.tick(1);
  assert.equal(store.get(), 'read');
});

test('events that come faster than they are rendered are published together, and a change of the page at once', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const released = Promise.withResolvers<void>();
  const store = new LiveStore<readonly string[]>(
    [],
    async (set) => {
      for (const event of ['a', 'b']) {
        set((state) => [...state, event]);
        await released.promise;
      }
      return true;
    },
    () => false,
  );
  const published: (readonly string[])[] = [];
  store.subscribe(() => published.push(store.get()));
  released.resolve();
  await nextIteration();
  assert.deepEqual(published, []);
  context.mock.timers.tick(1);
  assert.deepEqual(published, [['a', 'b']]);
  store.set((state) => [...state, 'draft']);
  assert.deepEqual(published.slice(1), [['a', 'b', 'draft']]);
});
