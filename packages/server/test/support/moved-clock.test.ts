import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MovedClock } from './moved-clock.ts';

test('timers of a moved clock fire in the order of their due times, each at its due time', () => {
  const clock = new MovedClock(0);
  const fired: string[] = [];
  clock.every(300, () => fired.push(`slow ${clock.now()}`));
  clock.every(200, () => fired.push(`fast ${clock.now()}`));
  clock.move(600);
  assert.deepEqual(fired, ['fast 200', 'slow 300', 'fast 400', 'slow 600', 'fast 600']);
  assert.equal(clock.now(), 600);
});

test('a stopped timer does not fire again, also when its own task stopped it', () => {
  const clock = new MovedClock(0);
  let count = 0;
  const stop = clock.every(10, () => {
    count += 1;
    if (count === 2) stop();
  });
  clock.move(100);
  assert.equal(count, 2);
  assert.equal(clock.timers, 0);
});

test('a jump changes the time of day and fires no timer', () => {
  const clock = new MovedClock(5_000);
  let count = 0;
  clock.every(100, () => {
    count += 1;
  });
  clock.jump(-4_000);
  assert.equal(clock.now(), 1_000);
  clock.jump(10_000);
  assert.equal(count, 0);
  clock.move(100);
  assert.equal(count, 1);
  assert.equal(clock.now(), 11_100);
});
