import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { Repeated } from '../../src/concurrency/repeated.ts';

/** A task, and the functions that end its runs. */
function watchedTask() {
  const ends: (() => void)[] = [];
  const repeated = new Repeated(() => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    return promise;
  });
  return { repeated, ends };
}

test('one run at a time is under way, and all requests meanwhile are one run after it', async () => {
  const { repeated, ends } = watchedTask();
  const first = repeated.request();
  const later = [repeated.request(), repeated.request()];
  assert.equal(ends.length, 1);
  ends[0]?.();
  await first;
  assert.equal(ends.length, 2);
  ends[1]?.();
  await Promise.all(later);
  await nextIteration();
  assert.equal(ends.length, 2);
});

test('a task that requests a run while it runs is run again', async () => {
  let runs = 0;
  const repeated = new Repeated(async () => {
    runs += 1;
    if (runs < 3) void repeated.request();
  });
  await repeated.request();
  await nextIteration();
  assert.equal(runs, 3);
});

test('runs that are requested after a time are one, and none of them begins before it', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { repeated, ends } = watchedTask();
  repeated.requestAfter(50);
  context.mock.timers.tick(49);
  repeated.requestAfter(50);
  assert.equal(ends.length, 0);
  context.mock.timers.tick(1);
  assert.equal(ends.length, 1);
  ends[0]?.();
  await nextIteration();
  context.mock.timers.tick(100);
  assert.equal(ends.length, 1);
  repeated.requestAfter(50);
  context.mock.timers.tick(50);
  assert.equal(ends.length, 2);
});

test('close waits for the run under way, and no run begins after it', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { repeated, ends } = watchedTask();
  void repeated.request();
  const requested = repeated.request();
  repeated.requestAfter(50);
  let isClosed = false;
  const closed = repeated.close().then(() => (isClosed = true));
  await nextIteration();
  assert.equal(isClosed, false);
  ends[0]?.();
  await Promise.all([requested, closed, repeated.close(), repeated.request()]);
  repeated.requestAfter(50);
  context.mock.timers.tick(100);
  await nextIteration();
  assert.equal(ends.length, 1);
});
