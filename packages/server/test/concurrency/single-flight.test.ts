import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SingleFlight } from '../../src/concurrency/single-flight.ts';

/** Counts the runs of a task, whose results are given later. */
function countedTask() {
  const flights = new SingleFlight<string, string>();
  const runs: PromiseWithResolvers<string>[] = [];
  const run = (key: string) =>
    flights.run(key, () => {
      const one = Promise.withResolvers<string>();
      runs.push(one);
      return one.promise;
    });
  return { run, runs };
}

test('callers of one key share a run while it is under way, and the next caller begins another', async () => {
  const { run, runs } = countedTask();
  const both = [run('a'), run('a')];
  assert.equal(runs.length, 1);
  runs[0]?.resolve('first');
  assert.deepEqual(await Promise.all(both), ['first', 'first']);
  const later = run('a');
  runs[1]?.resolve('second');
  assert.equal(await later, 'second');
});

test('callers of different keys have runs of their own', async () => {
  const { run, runs } = countedTask();
  const both = [run('a'), run('b')];
  assert.equal(runs.length, 2);
  runs[1]?.resolve('of b');
  runs[0]?.resolve('of a');
  assert.deepEqual(await Promise.all(both), ['of a', 'of b']);
});

test('a failure is that of all callers of the run, and is not cached', async () => {
  const { run, runs } = countedTask();
  const both = [run('a'), run('a')];
  runs[0]?.reject(new Error('broken'));
  for (const one of both) await assert.rejects(one, /broken/);
  const later = run('a');
  runs[1]?.resolve('fine');
  assert.equal(await later, 'fine');
});
