import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnRedis, skipsOwnRedis } from './own-redis.ts';

test('the port of a Redis that is stopped for a moment is given to no other one', {
  skip: skipsOwnRedis,
}, async (t) => {
  const { random } = Math;
  const drawn: number[] = [];
  const again: number[] = [];
  t.mock.method(Math, 'random', () => {
    drawn.push(again.shift() ?? random());
    return drawn.at(-1);
  });
  await using stopped = await OwnRedis.start();
  await stopped.stop();
  again.push(...drawn);
  await using other = await OwnRedis.start();
  await stopped.start();
  assert.deepEqual(again, []);
  assert.notEqual(other.port, stopped.port);
});
